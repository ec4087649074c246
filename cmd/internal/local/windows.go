package local

import (
	"errors"

	"github.com/iopathy/iopathy/features"
	"github.com/iopathy/iopathy/ingest/lake"
)

// windowPart is the part of windows of the cell in hand, with few of them in
// memory.
type windowPart struct {
	keep *keeping
	name string
	w    *lake.Writer
	rows []features.Window
}

// add takes windows of a cell, by device and time.
func (p *windowPart) add(c cell, windows []features.Window) error {
	if len(windows) > 0 {
		p.name = lake.PartName{Table: lake.Windows, Date: c.date, Host: c.host, Input: "windows"}.Path()
	}
	for len(windows) > 0 {
		n := min(len(windows), windowRows-len(p.rows)) // that the row group has room for
		p.rows = append(p.rows, windows[:n]...)
		windows = windows[n:]
		if len(p.rows) == windowRows {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *windowPart) flush() error {
	if len(p.rows) == 0 {
		return nil
	}
	cols := features.WindowColumns(p.rows)
	p.rows = p.rows[:0]
	if p.w == nil {
		var err error
		if p.w, err = lake.Create(p.keep.path(p.name), lake.Fields(cols), nil); err != nil {
			return err
		}
	}
	return p.w.Write(cols)
}

// close ends the part, if the cell has windows.
func (p *windowPart) close() error {
	if err := p.flush(); err != nil || p.w == nil {
		return err
	}
	part, err := p.w.Close()
	p.w = nil
	if err == nil {
		p.keep.add(p.name, part)
	}
	return err
}

// profilePart is the part of profiles of the cell in hand.
type profilePart struct {
	keep *keeping
	cell cell
	w    *lake.Writer
	rows []features.DeviceProfile
}

// add takes the profile of the next device of a cell, or of the next slice of the
// same device.
func (p *profilePart) add(c cell, d features.DeviceProfile) (err error) {
	if p.w == nil {
		p.cell = c
		if p.w, err = lake.Create(p.keep.path(p.path()), lake.Fields(features.ProfileColumns(nil)), nil); err != nil {
			return err
		}
	}
	n := len(p.rows)
	if n > 0 && p.rows[n-1].Key == d.Key {
		whole := p.rows[n-1].Profile()
		whole.Merge(d.Profile())
		p.rows[n-1].Rows = whole.Rows()
		return nil
	}
	if n == profileDevices {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.rows = append(p.rows, d)
	return nil
}

func (p *profilePart) path() string {
	return lake.PartName{Table: lake.Profiles, Date: p.cell.date, Host: p.cell.host, Input: "profiles"}.Path()
}

func (p *profilePart) flush() error {
	rows := 0
	for i := range p.rows {
		rows += len(p.rows[i].Rows)
	}
	profiles := p.rows
	p.rows = nil
	if rows == 0 {
		return nil
	}
	return p.w.Write(features.ProfileColumns(profiles))
}

func (p *profilePart) close() error {
	if p.w == nil {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	part, err := p.w.Close()
	p.w = nil
	if err == nil {
		p.keep.add(p.path(), part)
	}
	return err
}

// finish writes what else is known of a device whose turn it is, beside its
// ticks.
func (t *tickWriter) finish(l *tickLane) error {
	if l.res == nil {
		return nil
	}
	if err := t.enter(l.cell); err != nil {
		return err
	}
	res := l.res
	l.res = nil
	for i := range res.windows {
		w := &res.windows[i]
		res.bytes = append(res.bytes, windowBytes{w.StartNS, bytesOf(w)})
	}
	err := errors.Join(t.windows.add(l.cell, res.windows), t.profiles.add(l.cell, res.profile))
	res.windows, res.profile = nil, features.DeviceProfile{}
	return err
}

// enter makes a cell the one in hand.
func (t *tickWriter) enter(c cell) error {
	if c == t.cell {
		return nil
	}
	err := t.closeCell()
	t.cell = c
	return err
}
