// What an earlier phase got wrong about the micro-step is said, not run.
// RUN: accum-opt %s --split-input-file --verify-diagnostics --accum-bind-micro-batch --accum-build-program

// The plan belongs to another layout.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
// expected-error@+1 {{the plan counts 512 bytes of state, the layout has 768}}
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 512, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
}
}

// -----

// A yield of what no command accumulates.
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
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<1x4xf32, #rows> {
    // expected-error@+1 {{value for @a is not accumulated by a command}}
    train.yield %x : tensor<1x4xf32, #rows> to [@a]
  }
}
}

// -----

// One result for two targets.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 1024, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a, %other = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> (tensor<4xf32, #same>, tensor<4xf32, #same>) {
    // expected-error@+1 {{result is yielded twice}}
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0, %0 : tensor<4xf32, #sum>, tensor<4xf32, #sum> to [@a, "other"]
  }
}
}

// -----

// Two results of a command for one target: its kernel writes them on different threads.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @two(%x: tensor<1x4xf32, #rows>) -> (tensor<4xf32, #sum>, tensor<4xf32, #sum>) {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0, %0 : tensor<4xf32, #sum>, tensor<4xf32, #sum>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    // expected-error@+1 {{accumulates two results in @a}}
    %0:2 = train.command @two(%x) {id = 0 : i64, accumulate = array<i64: 0, 1>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> (tensor<4xf32, #sum>, tensor<4xf32, #sum>)
    train.yield %0#0, %0#1 : tensor<4xf32, #sum>, tensor<4xf32, #sum> to [@a, @a]
  }
}
}

// -----

// An accumulating result that goes nowhere.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 512, scratch = 256, align = 256, slots = {}>} {
train.param @a : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func private @sum(%x: tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum> {
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
  return %0 : tensor<4xf32, #sum>
}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) {
    // expected-error@+1 {{accumulates result 0, which is not yielded}}
    %0 = train.command @sum(%x) {id = 0 : i64, accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield
  }
}
}

// -----

// A library call for what is no matrix product.
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
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  %sum_of_a = train.phase "micro" loop(%x: tensor<1x4xf32, #rows> = %x) -> tensor<4xf32, #same> {
    // expected-error@+1 {{asks the library for a kernel that is not one matrix product}}
    %0 = train.command @sum(%x) {id = 0 : i64, library = "gemm", accumulate = array<i64: 0>, flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>) -> tensor<4xf32, #sum>
    train.yield %0 : tensor<4xf32, #sum> to [@a]
  }
}
}

// -----

// A table that no run could load.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 768, scratch = 256, align = 256, slots = {}>} {
// expected-error@+1 {{`table` has elements of 'i16', which no run reads [unsupported]}}
train.param @table : tensor<4xi16> from #train.file<"m.onnx", 0, 8, 0>
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  train.phase "micro" loop() {
    train.yield
  }
}
}

// -----

// An input that no run could hand over.
#rows = #nn.batched<0>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>
module attributes {train.plan = #train.plan<m = 2, devices = 1, state = 256, scratch = 256, align = 256, slots = {}>} {
// expected-error@+1 {{input "x" has elements of 'i16', which no run reads [unsupported]}}
train.step @step inputs [{name = "x"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xi16, #rows>, %rng: tensor<2xi64, #same>, %hyper: tensor<8xf64, #same>):
  train.phase "micro" loop() {
    train.yield
  }
}
}
