// Steps whose phases do not fit each other, and commands that do not fit their kernels.
// RUN: accum-opt %s -split-input-file -verify-diagnostics

train.step @step inputs [] {
  train.phase "micro" loop() {
    // expected-error @+1 {{block with no terminator}}
    %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  }
}

// -----

// expected-error @+1 {{has an input without a name: {bound = 9 : i64}}}
train.step @step inputs [{bound = 9 : i64}] {
^bb0(%x: tensor<4xf32>):
  train.phase "micro" loop() {
    train.yield
  }
}

// -----

// expected-error @+1 {{has 1 arguments for 2 inputs}}
train.step @step inputs [{name = "x"}, {name = "valid"}] {
^bb0(%x: tensor<4xf32>):
  train.phase "micro" loop() {
    train.yield
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{stands between the phases of a step}}
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
}

// -----

train.step @step inputs [] {
  train.phase "micro" loop() {
    train.yield
  }
  // expected-error @+1 {{has the name of an earlier phase, "micro"}}
  train.phase "micro" loop() {
    train.yield
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{runs once and reads the input `x`, which only loops do}}
  train.phase "weights" once(%y: tensor<4xf32> = %x) {
    train.yield
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has 2 results for 1 accumulators}}
  %0:2 = train.phase "micro" loop(%y: tensor<4xf32> = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    train.yield %y, %y : tensor<4xf32>, tensor<4xf32> to ["loss", "loss"]
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has a result of type 'tensor<5xf32>' for a value of type 'tensor<4xf32>'}}
  %0 = train.phase "micro" loop(%y: tensor<4xf32> = %x) -> tensor<5xf32> {
    train.yield %y : tensor<4xf32> to ["loss"]
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{is a loop and yields values without a target}}
  %0 = train.phase "micro" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    train.yield %y : tensor<4xf32>
  }
}

// -----

train.step @step inputs [] {
  // expected-error @+1 {{runs once and adds to accumulators}}
  %0 = train.phase "weights" once() -> tensor<f32> {
    %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
    train.yield %0 : tensor<f32> to ["loss"]
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  %0 = train.phase "counts" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    train.yield %y : tensor<4xf32> to ["total0"]
  }
  // expected-error @+1 {{adds to "total0", as an earlier phase does}}
  %1 = train.phase "moments" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    train.yield %y : tensor<4xf32> to ["total0"]
  }
}

// -----

// expected-error @+1 {{adds to gradients in 2 loops}}
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  %0 = train.phase "micro" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    train.yield %y : tensor<4xf32> to [@w]
  }
  %1 = train.phase "more" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    train.yield %y : tensor<4xf32> to [@w]
  }
}

// -----

train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<4xf32>):
  %0 = train.phase "micro" loop(%y: tensor<4xf32> = %x) -> tensor<4xf32> {
    // expected-error @+1 {{adds 1 values to 2 targets}}
    train.yield %y : tensor<4xf32> to ["loss", "norm"]
  }
}

// -----

func.func @load() {
  // expected-error @+1 {{names @w, which is no parameter}}
  %0 = train.load_param @w : tensor<4xf32>
  return
}

// -----

train.param @w : tensor<5xf32> from #train.file<"m.onnx", 0, 20, 0>
func.func @load() {
  // expected-error @+1 {{has 'tensor<4xf32>' for @w, which is 'tensor<5xf32>'}}
  %0 = train.load_param @w : tensor<4xf32>
  return
}

// -----

train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func @unknown_optimizer(%dw: tensor<4xf32>, %hyper: tensor<8xf64>) {
  // expected-error @+1 {{has the optimizer `rmsprop`, which is none of adamw, adam, sgd}}
  train.update "rmsprop" @w, %dw, %hyper : tensor<4xf32>, tensor<8xf64>
  return
}

// -----

train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0>
func.func @update(%dw: tensor<4xf32>, %hyper: tensor<8xf64>) {
  // expected-error @+1 {{changes @w, which is frozen}}
  train.update "sgd" @w, %dw, %hyper : tensor<4xf32>, tensor<8xf64>
  return
}

// -----

func.func private @double(%x: tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>> {
  return %x : tensor<1x4xf32, #nn.batched<0>>
}
func.func @types(%x: tensor<1x5xf32, #nn.batched<0>>) {
  // expected-error @+1 {{has other types than @double}}
  %0 = train.command @double(%x) {id = 0 : i64, flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>} : (tensor<1x5xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  return
}

// -----

func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @operands(%x: tensor<4xf32>) {
  // expected-error @+1 {{has 2 operands and 1 results, @double has 1 and 1}}
  %0 = train.command @double(%x, %x) {id = 0 : i64, flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @accumulate(%x: tensor<4xf32>) {
  // expected-error @+1 {{accumulates result 1 of 1}}
  %0 = train.command @double(%x) {id = 0 : i64, accumulate = array<i64: 1>, flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias(%x: tensor<4xf32>) {
  // expected-error @+1 {{may_alias lists array<i64: 0, 1>, expected a result and an operand}}
  %0 = train.command @double(%x) {id = 0 : i64, may_alias = [array<i64: 0, 1>], flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @library(%x: tensor<4xf32>) {
  // expected-error @+1 {{asks for the library call fft, expected gemm or attention}}
  %0 = train.command @double(%x) {id = 0 : i64, library = "fft", flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
