// Runs a module in V8 with all of it compiled by the optimising tier, and reports the time between the marks as bench/protocol says.
import { appendFileSync, readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const cpuTime = () => {
  const { user, system } = process.cpuUsage();
  return 1000 * (user + system);
};
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const wasi = new WASI({ version: 'preview1', args: ['benchmark.wasm'], returnOnExit: true });
let wall, cpu, result = {};
const bench = {
  start() {
    [wall, cpu] = [process.hrtime.bigint(), cpuTime()];
  },
  end() {
    result = { exec_ns: Number(process.hrtime.bigint() - wall), exec_cpu_ns: cpuTime() - cpu };
  },
};
process.exitCode = wasi.start(new WebAssembly.Instance(module, { ...wasi.getImportObject(), bench }));
appendFileSync(process.env.WASMBENCH_RESULT, JSON.stringify(result) + '\n');
