// A result that is computed from the others of its command is its tail; the head makes the others.
// RUN: accum-opt %s --accum-split-tails | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
train.param @b : tensor<8xf32> from #train.file<"m.onnx", 0, 0, 0>

func.func private @add_gelu(%x: tensor<2x8xf32, #rows>, %b: tensor<8xf32, #same>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) {
  %0 = nn.elementwise <add> (%x, %b) : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  %1 = nn.elementwise <gelu_tanh> (%0) : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  return %1, %0 : tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>
}
// Neither result follows from the other: the product needs %y, which is as large.
func.func private @add_mul(%x: tensor<2x8xf32, #rows>, %y: tensor<2x8xf32, #rows>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) {
  %0 = nn.elementwise <add> (%x, %y) : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %1 = nn.elementwise <mul> (%0, %y) : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  return %0, %1 : tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>
}
func.func private @dw(%x: tensor<2x8xf32, #rows>, %y: tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum> {
  %0 = nn.contract "bi,bj->ij" (%x, %y) : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  return %0 : tensor<8x8xf32, #sum>
}
func.func private @total(%x: tensor<2x8xf32, #rows>) -> tensor<f32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<2x8xf32, #rows>) -> tensor<f32, #sum>
  return %0 : tensor<f32, #sum>
}
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<2x8xf32, #rows>):
  %loss, %sum_of_w, %sum_of_v = train.phase "micro" loop(%x: tensor<2x8xf32, #rows> = %x) -> (tensor<f32, #same>, tensor<8x8xf32, #same>, tensor<8x8xf32, #same>) {
    %b = train.load_param @b : tensor<8xf32, #same>
    // CHECK: train.command @add_gelu
    // CHECK-SAME: id = 0 : i64
    // CHECK-SAME: tail = #train.tail<id = 1, result = 0, kernel = @[[TAIL:gelu[a-z0-9_]*]], head = @[[HEAD:add[a-z0-9_]*]], operands = [-2], head_operands = [0, 1], flops = <0, 16>, bytes = <0, 128>>
    %g:2 = train.command @add_gelu(%x, %b) {id = 0, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>)
    // CHECK: train.command @add_mul
    // CHECK-NOT: tail
    // CHECK-SAME: id = 2 : i64}
    %m:2 = train.command @add_mul(%g#0, %x) {id = 1, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>)
    // Read by what runs in the forward part only: nothing to repeat.
    // CHECK: train.command @add_gelu
    // CHECK-NOT: tail
    // CHECK-SAME: id = 3 : i64}
    %n:2 = train.command @add_gelu(%m#0, %b) {id = 2, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>)
    %o:2 = train.command @add_mul(%n#0, %m#1) {id = 3, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>)
    %l = train.command @total(%o#0) {id = 4, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<f32, #sum>
    // Behind the loss, before the first gradient: what the backward part makes is not made twice.
    // CHECK: train.command @total
    // CHECK: train.command @add_gelu
    // CHECK-NOT: tail
    // CHECK-SAME: id = 6 : i64}
    %q:2 = train.command @add_gelu(%o#0, %b) {id = 5, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>)
    %d = train.command @dw(%g#0, %q#0) {id = 6, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
    %e = train.command @dw(%m#1, %q#1) {id = 7, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
    train.yield %l, %d, %e : tensor<f32, #sum>, tensor<8x8xf32, #sum>, tensor<8x8xf32, #sum> to ["loss", @w, @v]
  }
}
// CHECK: func.func private @[[TAIL]]({{.*}}) -> tensor<2x8xf32, #nn.batched<0>>
// CHECK-NEXT: nn.elementwise <gelu_tanh>
// CHECK-NEXT: return
// CHECK: func.func private @[[HEAD]]({{.*}}, {{.*}}) -> tensor<2x8xf32, #nn.batched<0>>
// CHECK-NEXT: nn.elementwise <add>
// CHECK-NEXT: return
