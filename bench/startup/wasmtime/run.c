// Compiles a module into a file, or runs the file as a WASI program:
//   wasmtime compile MODULE.wasm FILE
//   wasmtime run FILE [ARGS...]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi.h>
#include <wasm.h>
#include <wasmtime.h>

static void check(const char *what, wasmtime_error_t *error, wasm_trap_t *trap) {
	int status;
	wasm_byte_vec_t text;
	if (!error && !trap) return;
	if (error && wasmtime_error_exit_status(error, &status)) exit(status);
	if (error) wasmtime_error_message(error, &text);
	else wasm_trap_message(trap, &text);
	fprintf(stderr, "%s: %.*s\n", what, (int)text.size, text.data);
	exit(1);
}

static void compile(wasm_engine_t *engine, const char *from, const char *to) {
	wasmtime_module_t *module;
	wasm_byte_vec_t out;
	FILE *f = fopen(from, "rb");
	if (!f || fseek(f, 0, SEEK_END)) exit(1);
	size_t n = (size_t)ftell(f);
	uint8_t *bytes = malloc(n);
	rewind(f);
	if (!bytes || fread(bytes, 1, n, f) != n) exit(1);
	check("compile", wasmtime_module_new(engine, bytes, n, &module), NULL);
	check("serialize", wasmtime_module_serialize(module, &out), NULL);
	f = fopen(to, "wb");
	if (!f || fwrite(out.data, 1, out.size, f) != out.size || fclose(f)) exit(1);
}

static void run(wasm_engine_t *engine, int argc, const char **argv) {
	wasmtime_module_t *module;
	wasmtime_instance_t instance;
	wasmtime_extern_t start;
	wasm_trap_t *trap = NULL;
	check("load", wasmtime_module_deserialize_file(engine, argv[0], &module), NULL);
	wasmtime_store_t *store = wasmtime_store_new(engine, NULL, NULL);
	wasmtime_context_t *context = wasmtime_store_context(store);
	wasi_config_t *wasi = wasi_config_new();
	wasi_config_inherit_stdin(wasi);
	wasi_config_inherit_stdout(wasi);
	wasi_config_inherit_stderr(wasi);
	wasi_config_set_argv(wasi, (size_t)argc, argv);
	check("WASI", wasmtime_context_set_wasi(context, wasi), NULL);
	wasmtime_linker_t *linker = wasmtime_linker_new(engine);
	check("WASI", wasmtime_linker_define_wasi(linker), NULL);
	check("instantiate", wasmtime_linker_instantiate(linker, context, module, &instance, &trap), trap);
	if (!wasmtime_instance_export_get(context, &instance, "_start", 6, &start)) exit(2);
	check("call", wasmtime_func_call(context, &start.of.func, NULL, 0, NULL, 0, &trap), trap);
}

int main(int argc, const char **argv) {
	wasm_engine_t *engine = wasm_engine_new();
	if (argc == 4 && !strcmp(argv[1], "compile")) compile(engine, argv[2], argv[3]);
	else if (argc >= 3 && !strcmp(argv[1], "run")) run(engine, argc - 2, argv + 2);
	else return 2;
	return 0;
}
