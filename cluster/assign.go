package cluster

import "github.com/muesli/clusters"

// observation is a point on the unit sphere as muesli/clusters sees it. Its
// Distance is the cosine distance to a centre of unit length, clamped at 0:
// Nearest takes a negative distance for none at all, and 1 - a.a rounds below 0.
type observation []float64

func (o observation) Coordinates() clusters.Coordinates { return clusters.Coordinates(o) }

func (o observation) Distance(c clusters.Coordinates) float64 {
	return max(1-dotAll(o, c), 0)
}

// centres makes clusters of directions of unit length.
func centres(directions [][]float64) clusters.Clusters {
	c := make(clusters.Clusters, len(directions))
	for i, d := range directions {
		c[i].Center = clusters.Coordinates(d)
	}
	return c
}
