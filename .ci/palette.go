//go:build ignore

// Palette makes PNG files small: each pixel takes the nearest of the picture's
// 255 colours that tell most of it.
package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"log"
	"maps"
	"math"
	"os"
	"slices"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := reduce(file); err != nil {
			log.Fatal(err)
		}
	}
}

func reduce(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	in, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	b := in.Bounds()
	at := func(x, y int) color.RGBA {
		r, g, bl, _ := in.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8), 255}
	}
	count := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, c color.RGBA) int {
		return cmp.Or(cmp.Compare(count[c], count[a]), cmp.Compare(a.R, c.R), cmp.Compare(a.G, c.G), cmp.Compare(a.B, c.B))
	})
	// The most frequent first, then what the palette is farthest from: small
	// patches of a legend keep their colours.
	far := make([]float64, len(order))
	var palette color.Palette
	add := func(c color.RGBA) {
		palette = append(palette, c)
		for i, o := range order {
			if d := distance(o, c); len(palette) == 1 || d < far[i] {
				far[i] = d
			}
		}
	}
	for _, c := range order[:min(len(order), 64)] {
		add(c)
	}
	for len(palette) < min(len(order), 255) {
		next, most := 0, -1.0
		for i, o := range order {
			if w := far[i] * math.Sqrt(float64(count[o])); w > most {
				next, most = i, w
			}
		}
		add(order[next])
	}
	nearest := map[color.RGBA]uint8{}
	for c := range count {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, out); err != nil {
		return err
	}
	return os.WriteFile(file, small.Bytes(), 0o644)
}

func distance(a, b color.RGBA) float64 {
	sum := 0.0
	for _, d := range []float64{float64(a.R) - float64(b.R), float64(a.G) - float64(b.G), float64(a.B) - float64(b.B)} {
		sum += d * d
	}
	return sum
}
