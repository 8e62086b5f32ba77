package inproc

import (
	"fmt"

	"github.com/waot-project/waot/internal/image"
)

// Image is a compiled module before it is placed at an address.
type Image = image.Image

// The sections of an image.
const (
	Text        = image.Text
	Rodata      = image.Rodata
	Data        = image.Data
	numSections = image.NumSections
)

// forThisMachine refuses images that only other machines can map.
func forThisMachine(img *Image) error {
	if img.Meta.Arch != machine {
		return &ImageError{Reason: fmt.Sprintf("code for %q", img.Meta.Arch)}
	}
	if img.Page%pageSize != 0 {
		return &ImageError{Reason: fmt.Sprintf("pages of %d bytes", img.Page)}
	}
	return nil
}
