// Steps whose regions do not fit each other, and commands that do not fit their kernels.
// RUN: accum-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has a region that does not end in train.yield}}
train.step @step inputs [] gradients [] prepass {} prologue {} micro {} update {}

// -----

// expected-error @+1 {{has an input without a name: {bound = 9 : i64}}}
train.step @step inputs [{bound = 9 : i64}] gradients [] prepass {
  train.yield
} prologue {
  train.yield
} micro {
  train.yield
} update {
  train.yield
}

// -----

// expected-error @+1 {{has a prologue of 0 arguments for 1 totals}}
train.step @step inputs [{name = "x"}] gradients [] prepass {
^bb0(%x: tensor<4xf32>):
  train.yield %x : tensor<4xf32> to ["total0"]
} prologue {
  train.yield
} micro {
  train.yield
} update {
  train.yield
}

// -----

// expected-error @+1 {{has a micro-step of 1 arguments for 1 inputs, 0 totals and 1 values of the prologue}}
train.step @step inputs [{name = "x"}] gradients [] prepass {
  train.yield
} prologue {
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  train.yield %0 : tensor<f32>
} micro {
^bb0(%x: tensor<4xf32>):
  train.yield
} update {
  train.yield
}

// -----

// expected-error @+1 {{adds to the gradient of @w, which it does not list}}
train.step @step inputs [{name = "x"}] gradients [] prepass {
  train.yield
} prologue {
  train.yield
} micro {
^bb0(%x: tensor<4xf32>):
  train.yield %x : tensor<4xf32> to [@w]
} update {
  train.yield
}

// -----

// expected-error @+1 {{has an update of 1 arguments for hyper, 0 totals and 1 gradients}}
train.step @step inputs [] gradients [@w] prepass {
  train.yield
} prologue {
  train.yield
} micro {
  train.yield
} update {
^bb0(%hyper: tensor<8xf64>):
  train.yield
}

// -----

train.step @step inputs [{name = "x"}] gradients [] prepass {
  train.yield
} prologue {
  train.yield
} micro {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{adds 1 values to 2 targets}}
  train.yield %x : tensor<4xf32> to ["loss", "norm"]
} update {
  train.yield
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
