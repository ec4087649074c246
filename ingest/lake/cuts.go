package lake

import "cmp"

// Cuts says where to cut rows, whose devices stand in order, into row groups:
// it gives the end of each group. Devices share a group of at most shared rows,
// each as a whole; one with more rows has groups of its own, of at most max.
// 0 means SharedRows and GroupRows.
func Cuts(devices []string, shared, max int) []int {
	var runs []int
	for from := 0; from < len(devices); {
		to := from + 1
		for to < len(devices) && devices[to] == devices[from] {
			to++
		}
		runs = append(runs, to-from)
		from = to
	}
	return CutRuns(runs, shared, max)
}

// CutRuns is Cuts of the numbers of rows of the devices.
func CutRuns(runs []int, shared, max int) []int {
	shared, max = cmp.Or(shared, SharedRows), cmp.Or(max, GroupRows)
	var ends []int
	start, from := 0, 0 // of the group in hand, of the device in hand
	for _, rows := range runs {
		to := from + rows
		if to-start > shared && from > start {
			ends = append(ends, from)
			start = from
		}
		if to-start > shared { // from == start
			for start+max < to {
				start += max
				ends = append(ends, start)
			}
			ends = append(ends, to)
			start = to
		}
		from = to
	}
	if start < from {
		ends = append(ends, from)
	}
	return ends
}
