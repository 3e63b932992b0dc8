// What the forward part made of a derivative's operands can be made again in the derivative's kernel; readers that can wait
// stand behind it then.
// RUN: accum-opt %s --accum-join-repetitions | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
train.param @b : tensor<8xf32> from #train.file<"m.onnx", 0, 0, 0>

func.func private @gelu(%x: tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows> {
  %0 = nn.elementwise <gelu_tanh> (%x) : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  return %0 : tensor<2x8xf32, #rows>
}
func.func private @gelu_grad(%x: tensor<2x8xf32, #rows>, %dy: tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows> {
  %0 = nn.elementwise <gelu_tanh_grad> (%x) : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %1 = nn.elementwise <mul> (%0, %dy) : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  return %1 : tensor<2x8xf32, #rows>
}
func.func private @add_bias(%x: tensor<2x8xf32, #rows>, %b: tensor<8xf32, #same>) -> tensor<2x8xf32, #rows> {
  %0 = nn.elementwise <add> (%x, %b) : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  return %0 : tensor<2x8xf32, #rows>
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
train.step @step inputs [{name = "x"}] gradients [@u, @v, @w] prepass {
  train.yield
} prologue {
  train.yield
} micro {
^bb0(%x: tensor<2x8xf32, #rows>):
  %b = train.load_param @b : tensor<8xf32, #same>
  // CHECK: %[[A:.*]] = train.command @add_bias({{.*}}id = 0 : i64
  %a = train.command @add_bias(%x, %b) {id = 5, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  // CHECK: %[[H:.*]] = train.command @gelu({{.*}}id = 1 : i64
  %h = train.command @gelu(%a) {id = 6, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  // CHECK: %[[S:.*]] = train.command @add_bias({{.*}}id = 2 : i64
  %s = train.command @add_bias(%a, %b) {id = 7, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  // CHECK: %[[T:.*]] = train.command @gelu({{.*}}id = 3 : i64
  %t = train.command @gelu(%s) {id = 8, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %l = train.command @total(%t) {id = 9, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<f32, #sum>
  %u = train.command @dw(%h, %x) {id = 10, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  // CHECK-NOT: nn.reshape
  %view = nn.reshape %u : tensor<8x8xf32, #sum> -> tensor<64xf32, #sum>
  %v = train.command @dw(%s, %x) {id = 11, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  // CHECK: %[[G:.*]] = train.command @gelu_grad(%[[A]], %[[X:[a-z0-9]*]])
  // CHECK-SAME: companion = {bytes = #train.poly<0, 64>, flops = #train.poly<0, 16>, id = 1 : i64, kernel = @[[K:[a-z0-9_]*gelu_tanh_2x8xf32]], may_alias = array<i64: 0, 1>, more = array<i64>}
  // CHECK-SAME: id = 5 : i64
  // CHECK: %[[U:.*]] = train.command @dw(%[[H]], %[[X]]) {{.*}}id = 6 : i64
  // CHECK: nn.reshape %[[U]]
  %g = train.command @gelu_grad(%a, %x) {id = 12, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  // A parameter more is read for this one.
  // CHECK: %[[D:.*]] = train.command @gelu_grad(%[[A]], %[[G]])
  // CHECK-SAME: companion = {bytes = #train.poly<32, 64>, flops = #train.poly<0, 16>, id = 2 : i64
  // CHECK-SAME: more = array<i64: 1>}
  // CHECK-SAME: id = 7 : i64
  // CHECK: train.command @dw(%[[S]], %[[X]]) {{.*}}id = 8 : i64
  %d = train.command @gelu_grad(%a, %g) {id = 13, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  // Whoever reads the other GELU's result is read by this one, and cannot wait for it.
  // CHECK: train.command @gelu_grad(%[[T]], %[[D]])
  // CHECK-NOT: companion
  // CHECK: train.command @gelu_grad(%[[S]]
  // CHECK-NOT: companion
  // CHECK: train.yield
  %e = train.command @gelu_grad(%t, %d) {id = 14, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %f = train.command @gelu_grad(%s, %e) {id = 15, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %w = train.command @dw(%f, %x) {id = 16, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  train.yield %l, %u, %v, %w : tensor<f32, #sum>, tensor<8x8xf32, #sum>, tensor<8x8xf32, #sum>, tensor<8x8xf32, #sum> to ["loss", @u, @v, @w]
} update {
^bb0(%hyper: tensor<8xf64>, %du: tensor<8x8xf32>, %dv: tensor<8x8xf32>, %dw: tensor<8x8xf32>):
  train.yield
}

// A loss that is added up behind the first gradient: what reads the GELU stays before it, and nothing is joined.
// CHECK-LABEL: train.step @late_loss
train.step @late_loss inputs [{name = "x"}] gradients [@u, @w] prepass {
  train.yield
} prologue {
  train.yield
} micro {
^bb0(%x: tensor<2x8xf32, #rows>):
  %b = train.load_param @b : tensor<8xf32, #same>
  %a = train.command @add_bias(%x, %b) {id = 5, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<8xf32, #same>) -> tensor<2x8xf32, #rows>
  %h = train.command @gelu(%a) {id = 6, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  // CHECK: train.command @dw
  // CHECK: train.command @total
  // CHECK: train.command @gelu_grad
  // CHECK-NOT: companion
  // CHECK: train.yield
  %u = train.command @dw(%h, %x) {id = 7, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  %l = train.command @total(%h) {id = 8, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>) -> tensor<f32, #sum>
  %g = train.command @gelu_grad(%a, %x) {id = 9, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<2x8xf32, #rows>
  %w = train.command @dw(%g, %x) {id = 10, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x8xf32, #rows>, tensor<2x8xf32, #rows>) -> tensor<8x8xf32, #sum>
  train.yield %l, %u, %w : tensor<f32, #sum>, tensor<8x8xf32, #sum>, tensor<8x8xf32, #sum> to ["loss", @u, @w]
} update {
^bb0(%hyper: tensor<8xf64>, %du: tensor<8x8xf32>, %dw: tensor<8x8xf32>):
  train.yield
}
// Own results first; what both compute of one operand is computed once.
// CHECK: func.func private @[[K]](%[[X:.*]]: tensor<2x8xf32, #{{.*}}>, %[[DY:.*]]: tensor
// CHECK-DAG: %[[P:.*]] = nn.elementwise <gelu_tanh_grad> (%[[X]])
// CHECK-DAG: %[[M:.*]] = nn.elementwise <mul> (%[[P]], %[[DY]])
// CHECK-DAG: %[[Y:.*]] = nn.elementwise <gelu_tanh> (%[[X]])
// CHECK: return %[[M]], %[[Y]]
