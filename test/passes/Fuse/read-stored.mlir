// A sum that is stored in bf16 is what the norm beside it reads, which is a tail then.
// RUN: accum-opt %s --accum-split-tails | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
train.param @b : tensor<8xf32> from #train.file<"m.onnx", 0, 0, 0>

// CHECK-LABEL: func.func private @add_norm
// CHECK: %[[SUM:.*]] = nn.elementwise <add>
// CHECK: %[[STORED:.*]] = nn.cast %[[SUM]] : tensor<2x8xf32, #{{.*}}> -> tensor<2x8xbf16, #{{.*}}>
// CHECK: %[[READ:.*]] = nn.cast %[[STORED]] : tensor<2x8xbf16, #{{.*}}> -> tensor<2x8xf32, #{{.*}}>
// CHECK: nn.rms_norm(%[[READ]] scale
func.func private @add_norm(%x: tensor<2x8xf32, #rows>, %b: tensor<8xf32, #same>) -> (tensor<2x8xbf16, #rows>, tensor<2x8xbf16, #rows>, tensor<2xf32, #rows>) {
  %0 = nn.elementwise <add> (%x, %b) : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  %result, %rstd = nn.rms_norm(%0 scale %b) {axis = 1 : i64, eps = 9.9999999747524271E-7 : f64} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> (tensor<2x8xf32, #rows>, tensor<2xf32, #rows>)
  %1 = nn.cast %0 : tensor<2x8xf32, #rows> -> tensor<2x8xbf16, #rows>
  %2 = nn.cast %result : tensor<2x8xf32, #rows> -> tensor<2x8xbf16, #rows>
  return %1, %2, %rstd : tensor<2x8xbf16, #rows>, tensor<2x8xbf16, #rows>, tensor<2xf32, #rows>
}
func.func private @dw(%x: tensor<2x8xbf16, #rows>, %y: tensor<2x8xbf16, #rows>) -> tensor<8x8xf32, #sum> {
  %0 = nn.contract "bi,bj->ij" (%x, %y) : (tensor<2x8xbf16, #rows>, tensor<2x8xbf16, #rows>) -> tensor<8x8xf32, #sum>
  return %0 : tensor<8x8xf32, #sum>
}
func.func private @total(%x: tensor<2x8xbf16, #rows>) -> tensor<f32, #sum> {
  %0 = nn.cast %x : tensor<2x8xbf16, #rows> -> tensor<2x8xf32, #rows>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 0, 1>} : (tensor<2x8xf32, #rows>) -> tensor<f32, #sum>
  return %1 : tensor<f32, #sum>
}
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<2x8xf32, #rows>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<2x8xf32, #rows> = %x) -> (tensor<f32, #same>, tensor<8x8xf32, #same>) {
    %b = train.load_param @b : tensor<8xf32, #same>
    // CHECK: train.command @add_norm
    // CHECK-SAME: tail = #train.tail<{{.*}}result = 1,{{.*}} operands = [-1, 1],
    %g:3 = train.command @add_norm(%x, %b) {id = 0, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> (tensor<2x8xbf16, #rows>, tensor<2x8xbf16, #rows>, tensor<2xf32, #rows>)
    %l = train.command @total(%g#1) {id = 1, flops = #cost, bytes = #cost} : (tensor<2x8xbf16, #rows>) -> tensor<f32, #sum>
    %d = train.command @dw(%g#0, %g#1) {id = 2, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xbf16, #rows>, tensor<2x8xbf16, #rows>) -> tensor<8x8xf32, #sum>
    train.yield %l, %d : tensor<f32, #sum>, tensor<8x8xf32, #sum> to ["loss", @w]
  }
}
