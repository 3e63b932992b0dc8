// Linear regression with a mean squared error, as a planned step: y = x w + b, SGD with momentum.
// RUN: accum-opt %s --accum-bind-micro-batch --accum-build-program | FileCheck %s

#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>

module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 2048, scratch = 768, align = 256,
                                            slots = {"1:0" = 0 : i64, "2:0" = 256 : i64, "3:0" = 512 : i64,
                                                     "9:0" = 0 : i64, "10:0" = 256 : i64, "11:0" = 512 : i64}>} {
train.param @w : tensor<3x2xf32> from #train.file<"linear.onnx", 64, 24, 0> trained
train.param @b : tensor<2xf32> from #train.file<"linear.onnx", 88, 8, 0> trained

// CHECK: func.func private @count(%{{.*}}: tensor<2xi1>) -> tensor<i64> attributes {accum.kernel = 0 : i64, accumulate = array<i64: 0>}
func.func private @count(%valid: tensor<1xi1, #rows>) -> tensor<i64, #sum> {
  %0 = nn.cast %valid : tensor<1xi1, #rows> -> tensor<1xi64, #rows>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 0>} : (tensor<1xi64, #rows>) -> tensor<i64, #sum>
  return %1 : tensor<i64, #sum>
}
// 1 / number of elements.
func.func private @weight(%count: tensor<i64, #same>) -> tensor<f32, #same> {
  %0 = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32, #same>
  %1 = nn.cast %count : tensor<i64, #same> -> tensor<f32, #same>
  %2 = nn.elementwise <mul> (%0, %1) : (tensor<f32, #same>, tensor<f32, #same>) -> tensor<f32, #same>
  %3 = nn.elementwise <reciprocal> (%2) : (tensor<f32, #same>) -> tensor<f32, #same>
  return %3 : tensor<f32, #same>
}
// CHECK: func.func private @product(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<3x2xf32>) -> tensor<2x2xf32> {
func.func private @product(%x: tensor<1x3xf32, #rows>, %w: tensor<3x2xf32, #same>) -> tensor<1x2xf32, #rows> {
  %0 = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x3xf32, #rows>, tensor<3x2xf32, #same>) -> tensor<1x2xf32, #rows>
  return %0 : tensor<1x2xf32, #rows>
}
// The cotangent of y, and the loss.
func.func private @residual(%y: tensor<1x2xf32, #rows>, %b: tensor<2xf32, #same>, %t: tensor<1x2xf32, #rows>,
    %valid: tensor<1xi1, #rows>, %weight: tensor<f32, #same>) -> (tensor<1x2xf32, #rows>, tensor<f64, #sum>) {
  %0 = nn.elementwise <add> (%y, %b) : (tensor<1x2xf32, #rows>, tensor<2xf32, #same>) -> tensor<1x2xf32, #rows>
  %1 = nn.elementwise <sub> (%0, %t) : (tensor<1x2xf32, #rows>, tensor<1x2xf32, #rows>) -> tensor<1x2xf32, #rows>
  %2 = nn.mask_rows(%1, %valid) {dim = 0 : i64} : (tensor<1x2xf32, #rows>, tensor<1xi1, #rows>) -> tensor<1x2xf32, #rows>
  %3 = nn.elementwise <mul> (%2, %weight) : (tensor<1x2xf32, #rows>, tensor<f32, #same>) -> tensor<1x2xf32, #rows>
  %4 = nn.elementwise <mul> (%3, %2) : (tensor<1x2xf32, #rows>, tensor<1x2xf32, #rows>) -> tensor<1x2xf32, #rows>
  %5 = nn.cast %4 : tensor<1x2xf32, #rows> -> tensor<1x2xf64, #rows>
  %6 = nn.reduce <sum> (%5) {axes = array<i64: 0, 1>} : (tensor<1x2xf64, #rows>) -> tensor<f64, #sum>
  %7 = nn.elementwise <add> (%3, %3) : (tensor<1x2xf32, #rows>, tensor<1x2xf32, #rows>) -> tensor<1x2xf32, #rows>
  return %7, %6 : tensor<1x2xf32, #rows>, tensor<f64, #sum>
}
func.func private @outer(%x: tensor<1x3xf32, #rows>, %dy: tensor<1x2xf32, #rows>) -> tensor<3x2xf32, #sum> {
  %0 = nn.contract "bk,bn->kn" (%x, %dy) : (tensor<1x3xf32, #rows>, tensor<1x2xf32, #rows>) -> tensor<3x2xf32, #sum>
  return %0 : tensor<3x2xf32, #sum>
}
func.func private @columns(%dy: tensor<1x2xf32, #rows>) -> tensor<2xf32, #sum> {
  %0 = nn.reduce <sum> (%dy) {axes = array<i64: 0>} : (tensor<1x2xf32, #rows>) -> tensor<2xf32, #sum>
  return %0 : tensor<2xf32, #sum>
}
// Momentum: v = v * beta1 * correction1 + g; p = p - lr * v.
func.func private @update(%hyper: tensor<8xf64, #same>, %p: tensor<2x64xf32, #same>, %g: tensor<2x64xf32, #same>,
    %v: tensor<2x64xf32, #same>) -> (tensor<2x64xf32, #same>, tensor<2x64xf32, #same>) attributes {accum.update = "sgd-momentum"} {
  %0 = nn.slice %hyper at [0] by [1] : tensor<8xf64, #same> -> tensor<1xf64, #same>
  %lr = nn.cast %0 : tensor<1xf64, #same> -> tensor<1xf32, #same>
  %1 = nn.slice %hyper at [1] by [1] : tensor<8xf64, #same> -> tensor<1xf64, #same>
  %2 = nn.slice %hyper at [4] by [1] : tensor<8xf64, #same> -> tensor<1xf64, #same>
  %3 = nn.elementwise <mul> (%1, %2) : (tensor<1xf64, #same>, tensor<1xf64, #same>) -> tensor<1xf64, #same>
  %keep = nn.cast %3 : tensor<1xf64, #same> -> tensor<1xf32, #same>
  %4 = nn.elementwise <mul> (%v, %keep) : (tensor<2x64xf32, #same>, tensor<1xf32, #same>) -> tensor<2x64xf32, #same>
  %5 = nn.elementwise <add> (%4, %g) : (tensor<2x64xf32, #same>, tensor<2x64xf32, #same>) -> tensor<2x64xf32, #same>
  %6 = nn.elementwise <mul> (%5, %lr) : (tensor<2x64xf32, #same>, tensor<1xf32, #same>) -> tensor<2x64xf32, #same>
  %7 = nn.elementwise <sub> (%p, %6) : (tensor<2x64xf32, #same>, tensor<2x64xf32, #same>) -> tensor<2x64xf32, #same>
  return %7, %5 : tensor<2x64xf32, #same>, tensor<2x64xf32, #same>
}
// CHECK-LABEL: device.program @program m 2 devices 1 state 2048 bytes scratch 768 bytes
// CHECK-SAME: gradients = [@w, @b]
// CHECK-SAME: {name = "x", type = tensor<1x3xf32, #nn.batched<0>>}
// CHECK-SAME: optimizer = "sgd-momentum"
// CHECK-SAME: phases = [{loop, name = "prepass"}, {name = "prologue"}, {gradients, loop, name = "micro"}, {name = "update"},
// CHECK-SAME: {eval, loop, name = "prepass"}, {eval, name = "prologue"}, {eval, loop, name = "micro"}]
// CHECK-SAME: scalars = [{name = "loss", type = tensor<f64>}, {name = "targets", type = tensor<i64>}]
// The state is listed where it is first needed, at the top.
// CHECK-DAG: %targets = device.buffer state at 1792 : tensor<i64> "targets"
// CHECK-DAG: %w = device.buffer state at 0 : tensor<3x2xf32> "w"
// CHECK-DAG: %gradient_of_w = device.buffer state at 512 : tensor<3x2xf32> "gradient of w"
// CHECK-DAG: %parameter_rows = device.buffer state at 0 : tensor<2x64xf32> "parameter rows"
// CHECK-DAG: %gradient_rows = device.buffer state at 512 : tensor<2x64xf32> "gradient rows"
// CHECK-DAG: %momentum_rows = device.buffer state at 1024 : tensor<2x64xf32> "momentum rows"
// CHECK: device.for_micro 0 {
// CHECK:   %valid = device.buffer input at 2 : tensor<2xi1> "valid"
// CHECK:   device.launch 0 @count[0](%valid, %targets) accumulate
// CHECK: device.all_reduce %targets
// CHECK: device.launch 1 @weight[1](%targets, %Div)
// CHECK: device.for_micro 2 {
// CHECK:   device.gemm 2 @product write %y = %x * %w sizes [2, 2, 3] strides a [3, 1] b [2, 1] c 2
// CHECK:   device.launch 3 @residual[2](%y, %b, %t, %valid{{.*}}, %Div, %{{.*}}, %loss) accumulate
// CHECK:   device.gemm 4 @outer accumulate %gradient_of_w = %x * %{{.*}} sizes [3, 2, 2] strides a [1, 3] b [2, 1] c 2
// CHECK:   device.launch 5 @columns[3](%{{.*}}, %gradient_of_b) accumulate
// CHECK: device.all_reduce %loss
// CHECK: device.all_reduce %all_gradients
// CHECK: device.inspect_gradients %all_gradients last
// CHECK: device.section "update"
// CHECK: device.launch 6 @update[4](%hyper, %parameter_rows, %gradient_rows, %momentum_rows, %parameter_rows, %momentum_rows)
// CHECK: device.end_micro 2
// CHECK: eval {
// CHECK: device.for_micro 4 {
// CHECK: device.for_micro 6 {
// CHECK:   device.launch 11 @residual[2](%y, %b, %t, %valid{{.*}}, %Div, %{{.*}}, %loss) accumulate
// CHECK: device.all_reduce %loss
// CHECK-NOT: update
train.step @step inputs [{name = "x"}, {name = "t"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x3xf32, #rows>, %t: tensor<1x2xf32, #rows>, %valid: tensor<1xi1, #rows>, %first: tensor<i64, #same>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %targets = train.phase "prepass" loop(%valid: tensor<1xi1, #rows> = %valid) -> tensor<i64, #same> {
    %0 = train.command @count(%valid) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1xi1, #rows>) -> tensor<i64, #sum>
    train.yield %0 : tensor<i64, #sum> to ["targets"]
  }
  %kept0 = train.phase "prologue" once(%count: tensor<i64, #same> = %targets) -> tensor<f32, #same> {
    %0 = train.command @weight(%count) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<i64, #same>) -> tensor<f32, #same> loc("Div")
    train.yield %0 : tensor<f32, #same>
  }
  %loss, %sum_of_w, %sum_of_b = train.phase "micro" loop(%x: tensor<1x3xf32, #rows> = %x, %t: tensor<1x2xf32, #rows> = %t, %valid: tensor<1xi1, #rows> = %valid, %weight: tensor<f32, #same> = %kept0) -> (tensor<f64, #same>, tensor<3x2xf32, #same>, tensor<2xf32, #same>) {
    %w = train.load_param @w : tensor<3x2xf32, #same>
    %b = train.load_param @b : tensor<2xf32, #same>
    %y = train.command @product(%x, %w) {id = 2 : i64, library = "gemm", flops = #cost, bytes = #cost} : (tensor<1x3xf32, #rows>, tensor<3x2xf32, #same>) -> tensor<1x2xf32, #rows> loc("y")
    %dy, %loss = train.command @residual(%y, %b, %t, %valid, %weight) {id = 3 : i64, accumulate = array<i64: 1>, flops = #cost, bytes = #cost} : (tensor<1x2xf32, #rows>, tensor<2xf32, #same>, tensor<1x2xf32, #rows>, tensor<1xi1, #rows>, tensor<f32, #same>) -> (tensor<1x2xf32, #rows>, tensor<f64, #sum>) loc("/loss/Sub")
    %dw = train.command @outer(%x, %dy) {id = 4 : i64, library = "gemm", accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x3xf32, #rows>, tensor<1x2xf32, #rows>) -> tensor<3x2xf32, #sum>
    %db = train.command @columns(%dy) {id = 5 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x2xf32, #rows>) -> tensor<2xf32, #sum>
    train.yield %loss, %dw, %db : tensor<f64, #sum>, tensor<3x2xf32, #sum>, tensor<2xf32, #sum> to ["loss", @w, @b]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #same> = %hyper) {
    %p = train.load_slot "parameter" : tensor<2x64xf32, #same>
    %g = train.load_slot "gradient" : tensor<2x64xf32, #same>
    %v = train.load_slot "momentum" : tensor<2x64xf32, #same>
    %p1, %v1 = train.command @update(%hyper, %p, %g, %v) {id = 6 : i64, may_alias = [array<i64: 0, 1>, array<i64: 1, 3>], flops = #cost, bytes = #cost} : (tensor<8xf64, #same>, tensor<2x64xf32, #same>, tensor<2x64xf32, #same>, tensor<2x64xf32, #same>) -> (tensor<2x64xf32, #same>, tensor<2x64xf32, #same>)
    train.store %p1 "parameter" : tensor<2x64xf32, #same>
    train.store %v1 "momentum" : tensor<2x64xf32, #same>
    train.yield
  }
}
train.step @eval inputs [{name = "x"}, {name = "t"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}] {
^bb0(%x: tensor<1x3xf32, #rows>, %t: tensor<1x2xf32, #rows>, %valid: tensor<1xi1, #rows>, %first: tensor<i64, #same>, %rng: tensor<2xi64, #same>):
  %targets = train.phase "prepass" loop(%valid: tensor<1xi1, #rows> = %valid) -> tensor<i64, #same> {
    %0 = train.command @count(%valid) {id = 8 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1xi1, #rows>) -> tensor<i64, #sum>
    train.yield %0 : tensor<i64, #sum> to ["targets"]
  }
  %kept0 = train.phase "prologue" once(%count: tensor<i64, #same> = %targets) -> tensor<f32, #same> {
    %0 = train.command @weight(%count) {id = 9 : i64, flops = #cost, bytes = #cost} : (tensor<i64, #same>) -> tensor<f32, #same> loc("Div")
    train.yield %0 : tensor<f32, #same>
  }
  %loss = train.phase "micro" loop(%x: tensor<1x3xf32, #rows> = %x, %t: tensor<1x2xf32, #rows> = %t, %valid: tensor<1xi1, #rows> = %valid, %weight: tensor<f32, #same> = %kept0) -> tensor<f64, #same> {
    %w = train.load_param @w : tensor<3x2xf32, #same>
    %b = train.load_param @b : tensor<2xf32, #same>
    %y = train.command @product(%x, %w) {id = 10 : i64, library = "gemm", flops = #cost, bytes = #cost} : (tensor<1x3xf32, #rows>, tensor<3x2xf32, #same>) -> tensor<1x2xf32, #rows> loc("y")
    %dy, %loss = train.command @residual(%y, %b, %t, %valid, %weight) {id = 11 : i64, accumulate = array<i64: 1>, flops = #cost, bytes = #cost} : (tensor<1x2xf32, #rows>, tensor<2xf32, #same>, tensor<1x2xf32, #rows>, tensor<1xi1, #rows>, tensor<f32, #same>) -> (tensor<1x2xf32, #rows>, tensor<f64, #sum>)
    train.yield %loss : tensor<f64, #sum> to ["loss"]
  }
}
}
