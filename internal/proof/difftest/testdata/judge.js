// Runs programs under V8. Each line of the input is a program as JSON, each line of the output its outcome: calls, globals and memory, numbers as their bits in hexadecimal.
const fs = require('fs'), crypto = require('crypto');
const view = new DataView(new ArrayBuffer(8));

// toJS makes a number of JavaScript of bits; toBits is the reverse.
function toJS(t, hex) {
  view.setBigUint64(0, BigInt('0x' + hex), true);
  switch (t) {
    case 'i': return view.getInt32(0, true);
    case 'l': return view.getBigInt64(0, true);
    case 'f': return view.getFloat32(0, true);
  }
  return view.getFloat64(0, true);
}

function toBits(t, x) {
  view.setBigUint64(0, 0n, true);
  switch (t) {
    case 'i': view.setInt32(0, x, true); break;
    case 'l': view.setBigInt64(0, x, true); break;
    case 'f': if (Number.isNaN(x)) return '7fc00000'; view.setFloat32(0, x, true); break;
    default: if (Number.isNaN(x)) return '7ff8000000000000'; view.setFloat64(0, x, true);
  }
  return view.getBigUint64(0, true).toString(16);
}

function failure(e) {
  if (e instanceof WebAssembly.Exception) return 'trap: uncaught exception';
  if (e instanceof WebAssembly.RuntimeError || e instanceof RangeError) return 'trap: ' + e.message;
  throw e;
}

function run(p) {
  const bytes = s => Buffer.from(s, 'base64');
  const env = new WebAssembly.Instance(new WebAssembly.Module(bytes(p.env)), {});
  let x;
  try {
    x = new WebAssembly.Instance(new WebAssembly.Module(bytes(p.wasm)), {env: env.exports}).exports;
  } catch (e) {
    return {start: failure(e)};
  }
  const o = {calls: [], globals: []};
  for (const c of p.calls) {
    x.reset();
    try {
      let r = x[c.export](...c.args.map((a, i) => toJS(c.params[i], a)));
      if (c.results.length === 1) r = [r];
      o.calls.push([c.export, ...[...c.results].map((t, i) => t + ':' + toBits(t, r[i]))].join(' '));
    } catch (e) {
      o.calls.push(failure(e));
    }
  }
  for (const g of p.globals) {
    const v = x[g].value;
    o.globals.push(typeof v === 'bigint' ? toBits('l', v) : String(Number.isNaN(v) ? 'NaN' : Object.is(v, -0) ? '-0' : v));
  }
  o.memory = crypto.createHash('sha256').update(new Uint8Array(x.memory.buffer)).digest('hex');
  return o;
}

for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
  if (!line) continue;
  let o;
  try {
    o = run(JSON.parse(line));
  } catch (e) {
    o = {start: 'failed: ' + e.message};
  }
  console.log(JSON.stringify(o));
}
