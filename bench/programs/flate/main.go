// Command flate compresses and decompresses at several levels, and hashes both.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/waot-project/waot/bench/programs/measure"
)

// text is sentences and numbers: some of it repeats.
func text(size int) []byte {
	r := measure.Random(41)
	words := make([]string, 400)
	for i := range words {
		w := make([]byte, 2+r.Below(9))
		for j := range w {
			w[j] = byte('a' + r.Below(26))
		}
		words[i] = string(w)
	}
	var b bytes.Buffer
	for b.Len() < size {
		for range 4 + r.Below(10) {
			n := r.Below(len(words))
			b.WriteString(words[r.Below(n+1)])
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d.\n", r.Below(1e6))
	}
	return b.Bytes()
}

func work() uint64 {
	var sum measure.Sum
	plain := text(1 << 20)
	for _, level := range []int{flate.HuffmanOnly, flate.BestSpeed, flate.DefaultCompression, 8} {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, level)
		if err != nil {
			panic(err)
		}
		w.Write(plain)
		w.Close()
		h := sha256.Sum256(packed.Bytes())
		sum.Add(binary.LittleEndian.Uint64(h[:]))
		back, err := io.ReadAll(flate.NewReader(&packed))
		if err != nil || !bytes.Equal(back, plain) {
			panic("the text is not what was compressed")
		}
		sum.Add(uint64(crc32.ChecksumIEEE(back)))
	}
	return uint64(sum)
}

func main() { measure.Program("flate", work) }
