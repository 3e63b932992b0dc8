// Several contributions to one target: the first of the first micro-step writes, all others add. Where one command both
// writes and adds, what it would write is set to zero before.
// RUN: accum-opt %s --accum-bind-micro-batch --accum-build-program | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>

module attributes {train.plan = #train.plan<m = 3, devices = 2, state = 1536, scratch = 0, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
train.param @b : tensor<4xf32> from #train.file<"m.onnx", 16, 16, 0> trained
train.param @table : tensor<4xf32> from #train.file<"m.onnx", 32, 16, 0>

func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @two(%x: tensor<1x4xf32, #rows>) -> (tensor<4xf32, #sum>, tensor<4xf32, #sum>) {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0, %0 : tensor<4xf32, #sum>, tensor<4xf32, #sum>
}
// Each target of an accumulation is a kernel of its own; what nobody calls is gone.
// CHECK-NOT: @unused
// CHECK: func.func private @sum({{.*}} attributes {accum.kernel = 0 : i64, accumulate = array<i64: 0>}
// CHECK: func.func private @two({{.*}} attributes {accum.kernel = 1 : i64, accumulate = array<i64: 0, 1>}
func.func private @unused(%x: tensor<1x4xf32, #rows>) -> tensor<1x4xf32, #rows> {
  return %x : tensor<1x4xf32, #rows>
}

// CHECK: device.for_micro 0 {
// CHECK:   device.launch 0 @sum[0](%x, %gradient_of_a) accumulate
// CHECK:   device.launch 1 @sum[0](%x, %gradient_of_a) add
// CHECK:   device.zero %gradient_of_b if_first
// CHECK:   device.launch 2 @two[1](%x, %gradient_of_a, %gradient_of_b) add
// CHECK: device.all_reduce %all_gradients
// CHECK: device.inspect_gradients %all_gradients last
// A stored value that no command makes is copied.
// CHECK: device.section "update"
// CHECK: device.copy %gradient_rows to %parameter_rows
// CHECK-NOT: device.copy
// CHECK: device.end_micro 0
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %valid: tensor<1xi1, #rows>, %first: tensor<i64, #same>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a, %sum_of_b = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> (tensor<4xf32, #same>, tensor<4xf32, #same>) {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    %1 = train.command @sum(%x) {id = 1 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    %2:2 = train.command @two(%x) {id = 2 : i64, accumulate = array<i64: 0, 1>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> (tensor<4xf32, #sum>, tensor<4xf32, #sum>)
    train.yield %0, %1, %2#0, %2#1 : tensor<4xf32, #sum>, tensor<4xf32, #sum>, tensor<4xf32, #sum>, tensor<4xf32, #sum> to [@a, @a, @a, @b]
  }
  train.phase "update" once() {
    %g = train.load_slot "gradient" : tensor<2x64xf32, #same>
    train.store %g "parameter" : tensor<2x64xf32, #same>
    train.yield
  }
}
}
