package faults_test

import (
	"reflect"
	"testing"
	"time"

	"redlockproxy/proxy/faults"
)

func TestPlanIsItsSeedsAlone(t *testing.T) {
	for seed := range uint64(20) {
		a, b := faults.NewPlan(seed, faults.Lost), faults.NewPlan(seed, faults.Lost)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: %v and %v", seed, a, b)
		}
	}
}

func TestPlansHaveEveryFaultAndLoseMemoryOnlyWhereTheyMay(t *testing.T) {
	losses := map[faults.Kind]bool{faults.Wipe: true, faults.Tear: true, faults.Flush: true, faults.Forward: true}
	seen := map[faults.Kind]int{}
	for seed := range uint64(200) {
		for _, memory := range []faults.Memory{faults.Kept, faults.Lost} {
			forgot, early, newProxies := map[int]bool{}, false, false
			plan := faults.NewPlan(seed, memory)
			for _, f := range plan.Faults {
				newProxies = newProxies || f.Kind == faults.KillProxy
				switch {
				case f.Kind == faults.Forward:
					early = true
					if step := f.Step(plan); step < 200*time.Millisecond {
						t.Errorf("seed %d: a clock is set forward by %v, which is not noticed", seed, step)
					}
				case f.Kind == faults.Rate && f.Amount > 1.01:
					early = true
					if gain := plan.TTL - time.Duration(float64(plan.TTL)/f.Amount); gain < 200*time.Millisecond {
						t.Errorf("seed %d: locks end %v too early before a clock that is wrong is noticed", seed, gain)
					}
				}
				seen[f.Kind]++
				if f.End < f.Begin {
					t.Errorf("seed %d: %v ends before it begins", seed, f)
				}
				if losses[f.Kind] || f.Kind == faults.Rate && f.Amount > 1.01 {
					forgot[f.Backend] = true
				}
			}
			if early && newProxies {
				t.Errorf("seed %d: a new proxy can't notice a clock that is wrong", seed)
			}
			if len(forgot) == faults.Backends || memory == faults.Kept && len(forgot) > 0 {
				t.Errorf("seed %d, %v: %d backends lose memory", seed, memory, len(forgot))
			}
		}
	}
	for _, kind := range faults.Kinds() {
		if seen[kind] == 0 {
			t.Errorf("no plan has %q", kind)
		}
	}
}
