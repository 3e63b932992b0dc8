// The first micro-step adds its terms to the sums of the others, and goes on from what it has computed.
// RUN: accum-opt %S/../Check/split-batch.mlir -accum-check-placement -accum-differentiate=keep-forward -accum-verify-placement | FileCheck %s

// CHECK-LABEL: train.step @step
// CHECK: train.phase "encode" loop
// CHECK-SAME: train.rest
// CHECK: train.yield {{.*}} to ["total0", "total1"]
// CHECK: train.phase "whole" once
// CHECK: train.phase "micro" loop
// CHECK-SAME: train.goes_on
// CHECK: nn.scatter_add
// CHECK: train.yield {{.*}} to ["loss", "total0", "total1", @w, @scale]

// An evaluation goes on from nothing.
// CHECK-LABEL: train.step @eval
// CHECK-NOT: train.rest
// CHECK: train.yield {{.*}} to ["loss"]
