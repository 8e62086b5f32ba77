#!/bin/sh -e
# Builds all kernels, with scalar versions that stay scalar. The modules beside this folder came from Debian's clang 19.1.7 and lld 19.1.7.
cd "$(dirname "$0")"
for source in *.c; do
	clang-19 --target=wasm32 -O3 -msimd128 -fno-vectorize -fno-slp-vectorize -ffreestanding -fno-builtin -nostdlib -Wall -Wextra -Werror \
		-Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 -o "../${source%.c}.wasm" "$source"
done
