// What an earlier phase got wrong about the update is said, not run.
// RUN: accum-opt %s --split-input-file --verify-diagnostics --accum-bind-micro-batch --accum-build-program

// A result without a slot.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @scale(%x: tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same> {
  %0 = nn.elementwise <neg> (%x) : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
  return %0 : tensor<1x64xf32, #same>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
  train.phase "update" once() {
    %p = train.load_slot "parameter" : tensor<1x64xf32, #same>
    // expected-error@+1 {{result 1:0 has no slot in the plan}}
    %1 = train.command @scale(%p) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.yield
  }
}
}

// -----

// A value overwritten in place by a command that may not alias it.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @scale(%x: tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same> attributes {accum.update = "sgd"} {
  %0 = nn.elementwise <neg> (%x) : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
  return %0 : tensor<1x64xf32, #same>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
  train.phase "update" once() {
    %p = train.load_slot "parameter" : tensor<1x64xf32, #same>
    // expected-error@+1 {{reads `parameter` and overwrites it without may_alias}}
    %1 = train.command @scale(%p) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.store %1 "parameter" : tensor<1x64xf32, #same>
    train.yield
  }
}
}

// -----

// A value read after it was overwritten.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {"2:0" = 0 : i64}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @scale(%x: tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same> attributes {accum.update = "sgd"} {
  %0 = nn.elementwise <neg> (%x) : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
  return %0 : tensor<1x64xf32, #same>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
  train.phase "update" once() {
    %p = train.load_slot "parameter" : tensor<1x64xf32, #same>
    %1 = train.command @scale(%p) {id = 1 : i64, may_alias = [array<i64: 0, 0>], flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.store %1 "parameter" : tensor<1x64xf32, #same>
    // expected-error@+1 {{reads `parameter` after it was overwritten}}
    %2 = train.command @scale(%p) {id = 2 : i64, flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.yield
  }
}
}

// -----

// An update whose optimizer nobody names.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @scale(%x: tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same> {
  %0 = nn.elementwise <neg> (%x) : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
  return %0 : tensor<1x64xf32, #same>
}
// expected-error@+1 {{updates parameters by a kernel that names no optimizer}}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
  train.phase "update" once() {
    %p = train.load_slot "parameter" : tensor<1x64xf32, #same>
    %1 = train.command @scale(%p) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.store %1 "parameter" : tensor<1x64xf32, #same>
    train.yield
  }
}
}

// -----

// An optimizer that is none.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
func.func private @scale(%x: tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same> attributes {accum.update = "adamw2"} {
  %0 = nn.elementwise <neg> (%x) : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
  return %0 : tensor<1x64xf32, #same>
}
// expected-error@+1 {{has the optimizer "adamw2", which is none of adamw, adam}}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
  train.phase "update" once() {
    %p = train.load_slot "parameter" : tensor<1x64xf32, #same>
    %1 = train.command @scale(%p) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<1x64xf32, #same>) -> tensor<1x64xf32, #same>
    train.store %1 "parameter" : tensor<1x64xf32, #same>
    train.yield
  }
}
}
