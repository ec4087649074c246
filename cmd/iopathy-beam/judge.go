package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/iopathy/iopathy/cluster"
	"github.com/iopathy/iopathy/cmd/internal/local"
	"github.com/iopathy/iopathy/reduce"
)

// sampleFn leaves what the fit may take of the windows of a share.
type sampleFn struct{ Spec string }

func (f *sampleFn) ProcessElement(ctx context.Context, text string, emit func(string)) (err error) {
	spec, share, err := shareOf(f.Spec, text)
	if err != nil {
		return err
	}
	_, rules, err := spec.rules()
	if err != nil {
		return err
	}
	r, err := spec.enter(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	dir, name, err := r.scratch("sample")
	if err == nil {
		err = r.job().SampleHosts(share.HostShare, rules, dir)
	}
	if err == nil {
		err = r.keep(name)
	}
	if err != nil {
		return err
	}
	share.Kept = name
	return emitJSON(ctx, emit, share)
}

func shareOf(specText, text string) (Spec, hostShare, error) {
	var share hostShare
	spec, err := decodeSpec(specText)
	if err != nil {
		return spec, share, err
	}
	if err := json.Unmarshal([]byte(text), &share); err != nil {
		return spec, share, fmt.Errorf("share of the hosts: %w", err)
	}
	return spec, share, nil
}

// allShares gives all shares, in the order of their hosts, and the names of what the last
// step has left of them.
func allShares(next func(*string) bool) (shares []hostShare, names []string, err error) {
	for text := ""; next(&text); {
		var share hostShare
		if err := json.Unmarshal([]byte(text), &share); err != nil {
			return nil, nil, fmt.Errorf("share of the hosts: %w", err)
		}
		shares = append(shares, share)
	}
	slices.SortFunc(shares, func(a, b hostShare) int { return cmp.Compare(a.Number, b.Number) })
	for i := range shares {
		names = append(names, shares[i].Kept)
	}
	return shares, names, nil
}

// fitFn fits the model. It gives the shares to be labelled, and the model.
type fitFn struct{ Spec string }

func (f *fitFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, emit, model func(string)) (err error) {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	shares, names, err := allShares(next)
	if err != nil {
		return err
	}
	r := spec.room(ctx)
	defer func() { err = r.leave(err) }()
	dirs, err := r.allKept(names)
	if err != nil {
		return err
	}
	inv, _, rules, err := spec.given()
	if err != nil {
		return err
	}
	fit, err := r.job().FitSamples(dirs, inv, rules, spec.Refit)
	if err != nil {
		return err
	}
	text, err := fit.Encode()
	if err != nil {
		return err
	}
	countPassed.Inc(ctx, int64(len(text)))
	model(text)
	for i := range shares {
		if err := emitJSON(ctx, emit, shares[i]); err != nil {
			return err
		}
	}
	return nil
}

// labelFn labels a share by the model.
type labelFn struct{ Spec string }

func (f *labelFn) ProcessElement(ctx context.Context, text, model string, emit func(string)) (err error) {
	spec, share, err := shareOf(f.Spec, text)
	if err != nil {
		return err
	}
	inv, _, rules, err := spec.given()
	if err != nil {
		return err
	}
	fit, err := local.DecodeFit(model)
	if err != nil {
		return err
	}
	r, err := spec.enter(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	dir, name, err := r.scratch("label")
	if err != nil {
		return err
	}
	labels, err := r.job().LabelHosts(share.HostShare, fit, inv, rules, dir)
	if err == nil {
		err = r.keep(name)
	}
	if err != nil {
		return err
	}
	share.Kept = name
	countLabels.Inc(ctx, labels)
	return emitJSON(ctx, emit, share)
}

// reportFn takes the labels of all shares into the lake and writes the report. It gives
// its files.
type reportFn struct{ Spec string }

func (f *reportFn) ProcessElement(ctx context.Context, _ int, next func(*string) bool, model string, emit func(string)) (err error) {
	spec, err := decodeSpec(f.Spec)
	if err != nil {
		return err
	}
	shares, names, err := allShares(next)
	if err != nil {
		return err
	}
	fit, err := local.DecodeFit(model)
	if err != nil {
		return err
	}
	r, err := spec.enter(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = r.leave(err) }()
	in := new(local.Ingested)
	if err := r.tell(shares[0].In, in); err != nil {
		return err
	}
	in.Ticks = shares[0].Ticks
	dirs, err := r.allKept(names)
	if err != nil {
		return err
	}
	if spec.Config.Out, err = r.report(); err != nil {
		return err
	}
	job := r.job()
	if err := job.TakeBackLabels(); err != nil {
		return err
	}
	windows, err := job.Windows()
	if err != nil {
		return err
	}
	files, err := report(ctx, spec, job, in, func(inv reduce.Inventory, rules *cluster.Rules) (*local.Diagnosed, error) {
		return job.DiagnoseHosts(windows, dirs, fit, inv, rules)
	})
	if err == nil {
		err = r.publish()
	}
	if err == nil {
		err = r.sendReport()
	}
	if err != nil {
		return err
	}
	emit(strings.Join(files, "\n"))
	return nil
}

// report stores what is said of windows, and writes the report.
func report(ctx context.Context, spec Spec, job *local.Job, in *local.Ingested, diagnose func(reduce.Inventory, *cluster.Rules) (*local.Diagnosed, error)) ([]string, error) {
	inv, catalogue, rules, err := spec.given()
	if err != nil {
		return nil, err
	}
	d, err := diagnose(inv, rules)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := job.StoreDiagnosis(d); err != nil {
		return nil, err
	}
	return job.Write(ctx, spec.Config.Out, d, catalogue, in)
}
