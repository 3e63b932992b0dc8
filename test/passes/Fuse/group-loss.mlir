// The commands between logits and what their cotangents add to stand together; what they need of others comes before,
// what needs them comes behind.
// RUN: accum-opt %s --accum-group-loss --split-input-file | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
train.param @w : tensor<7x3xf32> from #train.file<"m.onnx", 0, 0, 0>

func.func private @logits(%x: tensor<2x3xf32, #rows>, %w: tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows> {
  %0 = nn.contract "bh,vh->bv" (%x, %w) : (tensor<2x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows>
  return %0 : tensor<2x7xf32, #rows>
}
func.func private @loss(%z: tensor<2x7xf32, #rows>, %y: tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>) {
  %l, %lse = nn.cross_entropy(%z, %y) {ignore_index = -100 : i64} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>)
  return %l, %lse : tensor<2xf32, #rows>, tensor<2xf32, #rows>
}
func.func private @grad(%z: tensor<2x7xf32, #rows>, %y: tensor<2xi64, #rows>, %lse: tensor<2xf32, #rows>, %c: tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows> {
  %0 = nn.cross_entropy_grad(%z, %y, %lse, %c) {ignore_index = -100 : i64} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>, tensor<2xf32, #rows>, tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows>
  return %0 : tensor<2x7xf32, #rows>
}
func.func private @total(%l: tensor<2xf32, #rows>) -> tensor<f32, #sum> {
  %0 = nn.reduce <sum> (%l) {axes = array<i64: 0>} : (tensor<2xf32, #rows>) -> tensor<f32, #sum>
  return %0 : tensor<f32, #sum>
}
func.func private @weights(%c: tensor<f32, #same>) -> tensor<2xf32, #rows> {
  %0 = nn.broadcast %c : tensor<f32, #same> -> tensor<2xf32, #rows>
  return %0 : tensor<2xf32, #rows>
}
func.func private @dx(%d: tensor<2x7xf32, #rows>, %w: tensor<7x3xf32, #same>) -> tensor<2x3xf32, #rows> {
  %0 = nn.contract "bv,vh->bh" (%d, %w) : (tensor<2x7xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x3xf32, #rows>
  return %0 : tensor<2x3xf32, #rows>
}
func.func private @dw(%d: tensor<2x7xf32, #rows>, %x: tensor<2x3xf32, #rows>) -> tensor<7x3xf32, #sum> {
  %0 = nn.contract "bv,bh->vh" (%d, %x) : (tensor<2x7xf32, #rows>, tensor<2x3xf32, #rows>) -> tensor<7x3xf32, #sum>
  return %0 : tensor<7x3xf32, #sum>
}
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "y"}, {name = "valid"}, {name = "n"}] {
^bb0(%x: tensor<2x3xf32, #rows>, %y: tensor<2xi64, #rows>, %valid: tensor<1xi1, #rows>, %n: tensor<f32, #same>):
  %loss, %sum_of_w, %other = train.phase "micro" loop(%x: tensor<2x3xf32, #rows> = %x, %y: tensor<2xi64, #rows> = %y, %n: tensor<f32, #same> = %n) -> (tensor<f32, #same>, tensor<7x3xf32, #same>, tensor<f32, #same>) {
    %w = train.load_param @w : tensor<7x3xf32, #same>
    // CHECK: train.phase "micro"
    // CHECK: train.load_param
    // CHECK-NEXT: train.command @weights{{.*}}id = 0 : i64}
    // CHECK-NEXT: train.command @logits{{.*}}id = 1 : i64, rows = 2 : i64, sliced = array<i64: 0>}
    // CHECK-NEXT: nn.reshape
    // CHECK-NEXT: train.command @loss{{.*}}id = 2 : i64, sliced = array<i64>}
    // CHECK-NEXT: train.command @grad{{.*}}id = 3 : i64, sliced = array<i64: 0>}
    // CHECK-NEXT: train.command @dx{{.*}}id = 4 : i64, sliced = array<i64>}
    // CHECK-NEXT: train.command @dw{{.*}}id = 5 : i64, sliced = array<i64>}
    // CHECK-NEXT: train.command @total{{.*}}id = 6 : i64}
    // CHECK-NEXT: train.command @total{{.*}}id = 7 : i64}
    %z = train.command @logits(%x, %w) {id = 0, flops = #cost, bytes = #cost} : (tensor<2x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows>
    %v = nn.reshape %z : tensor<2x7xf32, #rows> -> tensor<2x7xf32, #rows>
    %l:2 = train.command @loss(%v, %y) {id = 1, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>)
    %s = train.command @total(%l#0) {id = 2, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2xf32, #rows>) -> tensor<f32, #sum>
    %c = train.command @weights(%n) {id = 3, flops = #cost, bytes = #cost} : (tensor<f32, #same>) -> tensor<2xf32, #rows>
    %d = train.command @grad(%v, %y, %l#1, %c) {id = 4, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>, tensor<2xf32, #rows>, tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows>
    %e = train.command @dx(%d, %w) {id = 5, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x3xf32, #rows>
    %g = train.command @dw(%d, %x) {id = 6, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<2x3xf32, #rows>) -> tensor<7x3xf32, #sum>
    %t = train.command @total(%l#1) {id = 7, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<2xf32, #rows>) -> tensor<f32, #sum>
    train.yield %s, %g, %t : tensor<f32, #sum>, tensor<7x3xf32, #sum>, tensor<f32, #sum> to ["loss", @w, "other"]
  }
}

// -----

// The weights of the cotangents depend on the losses: in slices they would be needed before they are there.
#rows = #nn.batched<0>
#same = #nn.replicated
#cost = #train.poly<0, 0>
train.param @w : tensor<7x3xf32> from #train.file<"m.onnx", 0, 0, 0>
func.func private @logits(%x: tensor<2x3xf32, #rows>, %w: tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows> {
  %0 = nn.contract "bh,vh->bv" (%x, %w) : (tensor<2x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows>
  return %0 : tensor<2x7xf32, #rows>
}
func.func private @loss(%z: tensor<2x7xf32, #rows>, %y: tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>) {
  %l, %lse = nn.cross_entropy(%z, %y) {ignore_index = -100 : i64} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>)
  return %l, %lse : tensor<2xf32, #rows>, tensor<2xf32, #rows>
}
func.func private @weights(%l: tensor<2xf32, #rows>) -> tensor<2xf32, #rows> {
  %0 = nn.elementwise <exp> (%l) : (tensor<2xf32, #rows>) -> tensor<2xf32, #rows>
  return %0 : tensor<2xf32, #rows>
}
func.func private @grad(%z: tensor<2x7xf32, #rows>, %y: tensor<2xi64, #rows>, %lse: tensor<2xf32, #rows>, %c: tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows> {
  %0 = nn.cross_entropy_grad(%z, %y, %lse, %c) {ignore_index = -100 : i64} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>, tensor<2xf32, #rows>, tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows>
  return %0 : tensor<2x7xf32, #rows>
}
// CHECK-LABEL: train.step @depends
// CHECK-NOT: sliced
train.step @depends inputs [{name = "x"}, {name = "y"}, {name = "valid"}] {
^bb0(%x: tensor<2x3xf32, #rows>, %y: tensor<2xi64, #rows>, %valid: tensor<1xi1, #rows>):
  train.phase "micro" loop(%x: tensor<2x3xf32, #rows> = %x, %y: tensor<2xi64, #rows> = %y) {
    %w = train.load_param @w : tensor<7x3xf32, #same>
    %z = train.command @logits(%x, %w) {id = 0, flops = #cost, bytes = #cost} : (tensor<2x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<2x7xf32, #rows>
    %l:2 = train.command @loss(%z, %y) {id = 1, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>) -> (tensor<2xf32, #rows>, tensor<2xf32, #rows>)
    %c = train.command @weights(%l#0) {id = 2, flops = #cost, bytes = #cost} : (tensor<2xf32, #rows>) -> tensor<2xf32, #rows>
    %d = train.command @grad(%z, %y, %l#1, %c) {id = 3, flops = #cost, bytes = #cost} : (tensor<2x7xf32, #rows>, tensor<2xi64, #rows>, tensor<2xf32, #rows>, tensor<2xf32, #rows>) -> tensor<2x7xf32, #rows>
    train.yield
  }
}

// -----

// Rows of a sample may be treated apart, unless a product mixes them.
#rows = #nn.batched<0>
#same = #nn.replicated
#cost = #train.poly<0, 0>
train.param @w : tensor<7x3xf32> from #train.file<"m.onnx", 0, 0, 0>
train.param @v : tensor<7x6x3x6xf32> from #train.file<"m.onnx", 0, 0, 0>
train.param @at : tensor<6x1xf32> from #train.file<"m.onnx", 0, 0, 0>
func.func private @logits(%x: tensor<1x6x3xf32, #rows>, %w: tensor<7x3xf32, #same>) -> tensor<1x6x7xf32, #rows> {
  %0 = nn.contract "bth,vh->btv" (%x, %w) : (tensor<1x6x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<1x6x7xf32, #rows>
  return %0 : tensor<1x6x7xf32, #rows>
}
func.func private @mixed(%x: tensor<1x6x3xf32, #rows>, %w: tensor<7x6x3x6xf32, #same>) -> tensor<1x6x7xf32, #rows> {
  %0 = nn.contract "buh,vthu->btv" (%x, %w) : (tensor<1x6x3xf32, #rows>, tensor<7x6x3x6xf32, #same>) -> tensor<1x6x7xf32, #rows>
  return %0 : tensor<1x6x7xf32, #rows>
}
func.func private @loss(%z: tensor<1x6x7xf32, #rows>, %y: tensor<1x6xi64, #rows>, %valid: tensor<1xi1, #rows>) -> tensor<1x6xf32, #rows> {
  %l, %lse = nn.cross_entropy(%z, %y) {ignore_index = -100 : i64} : (tensor<1x6x7xf32, #rows>, tensor<1x6xi64, #rows>) -> (tensor<1x6xf32, #rows>, tensor<1x6xf32, #rows>)
  %0 = nn.mask_rows(%l, %valid) {dim = 0 : i64} : (tensor<1x6xf32, #rows>, tensor<1xi1, #rows>) -> tensor<1x6xf32, #rows>
  return %0 : tensor<1x6xf32, #rows>
}
// A weight for each position is other for other rows.
func.func private @weighed(%z: tensor<1x6x7xf32, #rows>, %y: tensor<1x6xi64, #rows>, %at: tensor<6x1xf32, #same>) -> tensor<1x6xf32, #rows> {
  %0 = nn.elementwise <mul> (%z, %at) : (tensor<1x6x7xf32, #rows>, tensor<6x1xf32, #same>) -> tensor<1x6x7xf32, #rows>
  %l, %lse = nn.cross_entropy(%0, %y) {ignore_index = -100 : i64} : (tensor<1x6x7xf32, #rows>, tensor<1x6xi64, #rows>) -> (tensor<1x6xf32, #rows>, tensor<1x6xf32, #rows>)
  return %l : tensor<1x6xf32, #rows>
}
// CHECK-LABEL: train.step @rows
// CHECK: @logits{{.*}}rows = 6 : i64, sliced = array<i64: 0>
train.step @rows inputs [{name = "x"}, {name = "y"}, {name = "valid"}] {
^bb0(%x: tensor<1x6x3xf32, #rows>, %y: tensor<1x6xi64, #rows>, %valid: tensor<1xi1, #rows>):
  train.phase "micro" loop(%x: tensor<1x6x3xf32, #rows> = %x, %y: tensor<1x6xi64, #rows> = %y, %valid: tensor<1xi1, #rows> = %valid) {
    %w = train.load_param @w : tensor<7x3xf32, #same>
    %z = train.command @logits(%x, %w) {id = 0, flops = #cost, bytes = #cost} : (tensor<1x6x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<1x6x7xf32, #rows>
    %l = train.command @loss(%z, %y, %valid) {id = 1, flops = #cost, bytes = #cost} : (tensor<1x6x7xf32, #rows>, tensor<1x6xi64, #rows>, tensor<1xi1, #rows>) -> tensor<1x6xf32, #rows>
    train.yield
  }
}
// CHECK-LABEL: train.step @mixing
// CHECK: @mixed
// CHECK-NOT: rows = 6
// CHECK: sliced = array<i64: 0>
train.step @mixing inputs [{name = "x"}, {name = "y"}, {name = "valid"}] {
^bb0(%x: tensor<1x6x3xf32, #rows>, %y: tensor<1x6xi64, #rows>, %valid: tensor<1xi1, #rows>):
  train.phase "micro" loop(%x: tensor<1x6x3xf32, #rows> = %x, %y: tensor<1x6xi64, #rows> = %y, %valid: tensor<1xi1, #rows> = %valid) {
    %w = train.load_param @v : tensor<7x6x3x6xf32, #same>
    %z = train.command @mixed(%x, %w) {id = 0, flops = #cost, bytes = #cost} : (tensor<1x6x3xf32, #rows>, tensor<7x6x3x6xf32, #same>) -> tensor<1x6x7xf32, #rows>
    %l = train.command @loss(%z, %y, %valid) {id = 1, flops = #cost, bytes = #cost} : (tensor<1x6x7xf32, #rows>, tensor<1x6xi64, #rows>, tensor<1xi1, #rows>) -> tensor<1x6xf32, #rows>
    train.yield
  }
}
// CHECK-LABEL: train.step @positions
// CHECK: @logits
// CHECK-NOT: rows = 6
// CHECK: sliced = array<i64: 0>
train.step @positions inputs [{name = "x"}, {name = "y"}, {name = "valid"}] {
^bb0(%x: tensor<1x6x3xf32, #rows>, %y: tensor<1x6xi64, #rows>, %valid: tensor<1xi1, #rows>):
  train.phase "micro" loop(%x: tensor<1x6x3xf32, #rows> = %x, %y: tensor<1x6xi64, #rows> = %y) {
    %w = train.load_param @w : tensor<7x3xf32, #same>
    %at = train.load_param @at : tensor<6x1xf32, #same>
    %z = train.command @logits(%x, %w) {id = 0, flops = #cost, bytes = #cost} : (tensor<1x6x3xf32, #rows>, tensor<7x3xf32, #same>) -> tensor<1x6x7xf32, #rows>
    %l = train.command @weighed(%z, %y, %at) {id = 1, flops = #cost, bytes = #cost} : (tensor<1x6x7xf32, #rows>, tensor<1x6xi64, #rows>, tensor<6x1xf32, #same>) -> tensor<1x6xf32, #rows>
    train.yield
  }
}
