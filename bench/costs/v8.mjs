// Measures V8 for bench/costs, which starts it: loops that a folder has. Standard input names them, one a line; the answer is the processor time of an
// operation in nanoseconds.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WASI } from 'node:wasi';

const folder = process.argv[2];
const loops = new Map(JSON.parse(readFileSync(join(folder, 'loops.json'))).map((l) => [l.Name, l]));
const modules = new Map();

const cpuTime = () => {
  const { user, system } = process.cpuUsage();
  return 1000 * (user + system);
};

const compiled = (name) => {
  if (!modules.has(name)) modules.set(name, new WebAssembly.Module(readFileSync(join(folder, name + '.wasm'))));
  return modules.get(name);
};

// Runs a program for WASI.
const start = (loop) => {
  const dir = mkdtempSync(join(tmpdir(), 'stdout'));
  const file = join(dir, 'stdout');
  const stdout = openSync(file, 'w');
  try {
    const wasi = new WASI({ version: 'preview1', args: ['program'], stdout, returnOnExit: true });
    wasi.start(new WebAssembly.Instance(compiled(loop.Module), wasi.getImportObject()));
    const got = readFileSync(file, 'utf8');
    if (got !== readFileSync(join(process.env.WAOT_WASM3_DIR, loop.Module + '.expected'), 'utf8')) throw new Error(`${loop.Module} prints ${got}`);
  } finally {
    closeSync(stdout);
    rmSync(dir, { recursive: true });
  }
};

// Calls a function that does n operations.
const caller = (loop) => {
  const module = compiled(loop.Module);
  if (loop.Start) {
    return (n) => {
      for (let i = 0; i < n; i++) start(loop);
    };
  }
  const call = new WebAssembly.Instance(module).exports[loop.Func];
  return (n) => {
    const got = call(n, ...(loop.Args ?? []));
    if (got !== n) throw new Error(`${loop.Func} gives ${got}, not ${n}`);
  };
};

// As in edges.perOp.
const measure = (loop) => {
  const call = caller(loop);
  for (let n = 1; ; ) {
    const before = cpuTime();
    call(n);
    const d = cpuTime() - before;
    if (d > 15e6) return d / n / (loop.Start || 1);
    n = Math.min(n * 100, Math.floor((n * 25e6) / (d + 1)) + 1);
  }
};

for await (const name of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = measure(loops.get(name));
  } catch (e) {
    answer = 'failed: ' + JSON.stringify(String(e));
  }
  console.log(answer);
}
