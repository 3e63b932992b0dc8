// Where samples meet a step has three phases: what enters, the rest on the whole batch, and what goes on from there.
// RUN: accum-opt %S/../Check/split-batch.mlir -accum-check-placement -accum-differentiate -accum-verify-placement | FileCheck %s

// CHECK-LABEL: train.step @step
// CHECK: %[[ENTERED:.*]]:2 = train.phase "encode" loop
// CHECK: nn.scatter_add
// CHECK: train.yield {{.*}} to ["total0", "total1"]
// The loss, two derivatives, and the gradient of the parameter that is read there.
// CHECK: %[[LEFT:.*]]:4 = train.phase "whole" once
// CHECK-SAME: = %[[ENTERED]]#0
// CHECK-SAME: -> (tensor<f32, #nn.replicated>, tensor<6x3xf32, #nn.replicated>, tensor<3xf32, #nn.replicated>, tensor<f32, #nn.replicated>)
// CHECK: train.load_param @scale
// CHECK-NOT: train.load_param @w
// CHECK: train.phase "micro" loop
// CHECK-SAME: train.goes_on
// Each sample's row of the derivative, and what counts once. The second forward is dead here: the layer is linear.
// CHECK: nn.share
// CHECK: nn.gather(
// CHECK: nn.contract "bk,bn->kn"
// CHECK: nn.share
// CHECK: train.yield {{.*}} to ["loss", @w, @scale]
// CHECK: train.phase "update"

// CHECK-LABEL: train.step @eval
// CHECK: train.phase "encode" loop
// CHECK: train.phase "whole" once
// CHECK: train.phase "evaluation" loop
// CHECK-NOT: nn.contract
// CHECK: train.yield {{.*}} to ["loss"]
