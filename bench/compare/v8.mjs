// Runs a module in V8 with all of it compiled by the optimising tier, and reports the time between the marks as bench/protocol says.
import { appendFileSync, readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const cpuTime = () => {
  const { user, system } = process.cpuUsage();
  return 1000 * (user + system);
};
const bytes = readFileSync(process.argv[2]);
const before = cpuTime();
const module = new WebAssembly.Module(bytes);
const compile_cpu_ns = cpuTime() - before;
const wasi = new WASI({ version: 'preview1', args: ['benchmark.wasm'], preopens: { '.': '.' }, returnOnExit: true });
let wall, cpu, result;
const bench = {
  start() {
    [wall, cpu] = [process.hrtime.bigint(), cpuTime()];
  },
  end() {
    result = { compile_cpu_ns, exec_ns: Number(process.hrtime.bigint() - wall), exec_cpu_ns: cpuTime() - cpu };
  },
};
bench.start();
process.exitCode = wasi.start(new WebAssembly.Instance(module, { ...wasi.getImportObject(), bench }));
if (!result) bench.end(); // a module without marks
appendFileSync(process.env.WASMBENCH_RESULT, JSON.stringify(result) + '\n');
