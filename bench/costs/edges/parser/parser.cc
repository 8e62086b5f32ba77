// A parser of nested lists of numbers, "[1,[2,3]]", by recursive descent. It throws at what it does not expect, and each level has an object with a
// destructor. It needs no library: all that it catches is "...". clang 19 makes legacy exceptions, and binaryen's wasm-opt those of WebAssembly 3.0 of them:
//   clang-19 --target=wasm32 -O2 -fwasm-exceptions -fno-rtti -nostdlib -Wl,--no-entry -Wl,--strip-all -o legacy.wasm parser.cc
//   wasm-opt -all --translate-to-exnref legacy.wasm -o parser.wasm
using size_t = decltype(sizeof 0);

extern "C" {
// What the compiler calls. There is one object that is thrown, so nothing is counted and nothing freed.
void *__cxa_begin_catch(void *thrown) { return thrown; }
void __cxa_end_catch() {}
}

namespace {

struct Error {
  size_t at;
};

Error thrown;

[[noreturn, gnu::noinline]] void fail(size_t at) {
  thrown.at = at;
  __builtin_wasm_throw(0, &thrown);
}

int open; // the lists that are open

struct Level {
  Level() { open++; }
  ~Level() { open--; }
};

struct Parser {
  const char *text;
  size_t at;

  char next() { return text[at]; }

  [[gnu::noinline]] void expect(char c) {
    if (next() != c) fail(at);
    at++;
  }

  [[gnu::noinline]] unsigned number() {
    if (next() < '0' || next() > '9') fail(at);
    unsigned v = 0;
    while (next() >= '0' && next() <= '9') v = v * 10 + unsigned(text[at++] - '0');
    return v;
  }

  unsigned list();

  unsigned value() { return next() == '[' ? list() : number(); }
};

// A pointer that the compiler does not know keeps the levels frames of their own.
unsigned (Parser::*volatile nested)() = &Parser::value;

unsigned Parser::list() {
  Level level;
  expect('[');
  unsigned sum = (this->*nested)();
  while (next() == ',') {
    at++;
    sum += (this->*nested)();
  }
  expect(']');
  return sum;
}

const char *volatile good = "[1,[1,[1,[1,[1,[1,[1,[1,[2]]]]]]]]]";
const char *volatile bad = "[1,[1,[1,[1,[1,[1,[1,[1,[x]]]]]]]]]";

unsigned parse(const char *text) {
  Parser p{text, 0};
  try {
    return p.list();
  } catch (...) {
    return thrown.at == 25 && open == 0 ? 10 : 0;
  }
}

// The sum of n texts is ten times n.
int texts(int n, const char *volatile &text) {
  unsigned sum = 0;
  for (int i = 0; i < n; i++) sum += parse(text);
  return int(sum / 10);
}

} // namespace

extern "C" {
__attribute__((export_name("good"))) int parse_good(int n) { return texts(n, good); }
__attribute__((export_name("bad"))) int parse_bad(int n) { return texts(n, bad); }
}
