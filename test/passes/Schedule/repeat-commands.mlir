// What the plan recomputes runs again right before the backward part needs it; views are repeated with it, the forward
// part keeps reading the original.
// RUN: accum-opt %s --accum-repeat-commands --split-input-file --verify-diagnostics | FileCheck %s

#rows = #nn.batched<0>
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>

module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 0, scratch = 0, align = 64, recompute = [1, 2], before = [4, 4], slots = {}>} {
func.func private @f(%x: tensor<1x4xf32, #rows>) -> tensor<1x4xf32, #rows> {
  return %x : tensor<1x4xf32, #rows>
}
func.func private @g(%x: tensor<4xf32, #rows>) -> tensor<4xf32, #rows> {
  return %x : tensor<4xf32, #rows>
}
func.func private @loss(%x: tensor<4xf32, #rows>) -> tensor<f32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<4xf32, #rows>) -> tensor<f32, #sum>
  return %0 : tensor<f32, #sum>
}
func.func private @add(%x: tensor<4xf32, #rows>, %y: tensor<1x4xf32, #rows>) -> tensor<f32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<4xf32, #rows>) -> tensor<f32, #sum>
  return %0 : tensor<f32, #sum>
}
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<1x4xf32, #rows>):
  // CHECK: train.phase "micro" loop(%[[X:.*]]: tensor
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> (tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>) {
    // CHECK: %[[A:.*]] = train.command @f(%[[X]]) {{.*}}id = 0
    %a = train.command @f(%x) {id = 0, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<1x4xf32, #rows>
    // CHECK: %[[B:.*]] = train.command @f(%[[A]]) {{.*}}id = 1
    %b = train.command @f(%a) {id = 1, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<1x4xf32, #rows>
    // CHECK: %[[V:.*]] = nn.reshape %[[B]]
    %v = nn.reshape %b : tensor<1x4xf32, #rows> -> tensor<4xf32, #rows>
    // CHECK: %[[C:.*]] = train.command @g(%[[V]]) {{.*}}id = 2
    %c = train.command @g(%v) {id = 2, flops = #cost, bytes = #cost} : (tensor<4xf32, #rows>) -> tensor<4xf32, #rows>
    // CHECK: train.command @loss(%[[C]])
    %l = train.command @loss(%c) {id = 3, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<4xf32, #rows>) -> tensor<f32, #sum>
    // The loss is made from command 2, so that what comes behind it is backward.
    // CHECK: %[[B2:.*]] = train.command @f(%[[A]]) {{.*}}clone_of = 1 : i64{{.*}}id = 7
    // CHECK: %[[V2:.*]] = nn.reshape %[[B2]]
    // CHECK: %[[C2:.*]] = train.command @g(%[[V2]]) {{.*}}clone_of = 2 : i64{{.*}}id = 8
    // CHECK: train.command @add(%[[C2]], %[[A]])
    %d = train.command @add(%c, %a) {id = 4, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<4xf32, #rows>, tensor<1x4xf32, #rows>) -> tensor<f32, #sum>
    // CHECK: train.command @add(%[[V2]], %[[B2]])
    %e = train.command @add(%v, %b) {id = 5, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<4xf32, #rows>, tensor<1x4xf32, #rows>) -> tensor<f32, #sum>
    train.yield %l, %d, %e : tensor<f32, #sum>, tensor<f32, #sum>, tensor<f32, #sum> to ["loss", @w, @w]
  }
}
}

// -----

#rows = #nn.batched<0>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 0, scratch = 0, align = 64, recompute = [9], before = [8], slots = {}>} {
// expected-error@+1 {{has no command 9, or no command 8 that it is repeated before}}
train.step @step inputs [] {
  train.phase "micro" loop() {
    train.yield
  }
}
}
