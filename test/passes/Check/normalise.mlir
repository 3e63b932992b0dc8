// Denominators: what the pre-pass can compute and what it cannot.
// RUN: accum-opt %s -accum-check-placement -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// sum(l * mask) / max(sum(mask), 1): the total is taken where the sum is born.
// CHECK-LABEL: @forward
// CHECK: %[[SUM:.*]] = nn.reduce <sum> {{.*}} -> tensor<f32, #nn.partial<sum>>
// CHECK: %[[TOTAL:.*]] = nn.total
// CHECK: %[[CLAMPED:.*]] = nn.elementwise <max> (%[[TOTAL]], %{{.*}}) : {{.*}} -> tensor<f32, #nn.replicated>
// CHECK: nn.elementwise <div> (%[[SUM]], %[[CLAMPED]]) : {{.*}} -> tensor<f32, #nn.partial<sum>>
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>, %mask: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %m = nn.elementwise <mul> (%x, %mask) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %c = nn.reduce <sum> (%mask) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %d = nn.elementwise <max> (%c, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %l = nn.elementwise <div> (%s, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Mean-centred inputs: one pre-pass for the sum and the number of samples.
// CHECK-LABEL: @forward
// CHECK-DAG: %[[N:.*]] = nn.total %{{.*}} : tensor<i64, #nn.partial<sum>>
// CHECK-DAG: %[[S:.*]] = nn.total %{{.*}} : tensor<4xf32, #nn.partial<sum>>
// CHECK: %[[MEAN:.*]] = nn.elementwise <div> (%[[S]], %{{.*}}) : {{.*}} -> tensor<4xf32, #nn.replicated>
// CHECK: nn.elementwise <sub> (%{{.*}}, %[[MEAN]]) : {{.*}} -> tensor<1x4xf32, #nn.batched<0>>
// CHECK-NOT: nn.total
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32>
  %n = nn.batch_size : tensor<i64>
  %f = nn.cast %n : tensor<i64> -> tensor<f32>
  %mean = nn.elementwise <div> (%s, %f) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.elementwise <sub> (%x, %mean) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %q = nn.elementwise <abs> (%c) : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %l = nn.reduce <sum> (%q) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Standardised inputs: the variance needs the mean, and has a total of its own.
// CHECK-LABEL: @forward
// CHECK-DAG: %[[N:.*]] = nn.total %{{.*}} : tensor<i64, #nn.partial<sum>>
// CHECK-DAG: %[[S:.*]] = nn.total %{{.*}} : tensor<4xf32, #nn.partial<sum>>
// CHECK: %[[MEAN:.*]] = nn.elementwise <div> (%[[S]], %{{.*}}) : {{.*}} -> tensor<4xf32, #nn.replicated>
// CHECK: %[[C:.*]] = nn.elementwise <sub> (%{{.*}}, %[[MEAN]]) : {{.*}} -> tensor<1x4xf32, #nn.batched<0>>
// CHECK: %[[Q:.*]] = nn.elementwise <mul> (%[[C]], %[[C]])
// CHECK: %[[MASKED:.*]] = nn.mask_rows(%[[Q]]
// CHECK: %[[SQUARES:.*]] = nn.reduce <sum> (%[[MASKED]])
// CHECK: %[[V:.*]] = nn.total %[[SQUARES]] : tensor<4xf32, #nn.partial<sum>>
// CHECK: nn.elementwise <rsqrt> (%[[V]]) : {{.*}} -> tensor<4xf32, #nn.replicated>
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32>
  %n = nn.batch_size : tensor<i64>
  %f = nn.cast %n : tensor<i64> -> tensor<f32>
  %mean = nn.elementwise <div> (%s, %f) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.elementwise <sub> (%x, %mean) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %q = nn.elementwise <mul> (%c, %c) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %v = nn.reduce <sum> (%q) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32>
  %d = nn.elementwise <rsqrt> (%v) : (tensor<4xf32>) -> tensor<4xf32>
  %z = nn.elementwise <mul> (%c, %d) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %l = nn.reduce <sum> (%z) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Gated mean: the weights of the mean are learned.
train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %g = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %c = nn.reduce <sum> (%g) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  // expected-error @+3 {{divides by a sum over the batch that depends on parameters [cross-batch]}}
  // expected-note @+2 {{the sum over the batch is taken by nn.reduce}}
  // expected-note @+1 {{divide by what depends on the inputs only, such as the number of targets: that is computed first}}
  %l = nn.elementwise <div> (%s, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Class weights that are a frozen table: their sum is computed first.
// CHECK-LABEL: @forward
// CHECK: %[[T:.*]] = nn.total
// CHECK: nn.elementwise <div> (%{{.*}}, %[[T]])
train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0>
func.func @forward(%x: tensor<1xf32, #nn.extent<0>>, %labels: tensor<1xi64, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %g = nn.gather(%w, %labels) {axis = 0 : i64} : (tensor<4xf32>, tensor<1xi64, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %c = nn.reduce <sum> (%g) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %l = nn.elementwise <div> (%s, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A function of inputs and parameters that needs all samples, but not one by one: computed once, counted once.
// CHECK-LABEL: @forward
// CHECK: %[[T:.*]] = nn.total
// CHECK: %[[E:.*]] = nn.elementwise <exp>
// CHECK: %[[L:.*]] = nn.share(%[[E]])
// CHECK: return %[[L]]
train.param @w : tensor<f32> from #train.file<"m.onnx", 0, 4, 0> trained
func.func @forward(%x: tensor<1xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<f32>
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %p = nn.elementwise <mul> (%s, %w) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %e = nn.elementwise <exp> (%p) : (tensor<f32>) -> tensor<f32>
  return %e : tensor<f32>
}

// -----

// max(count + 1, 2): a shared term of a sum whose total is taken is the term itself.
// CHECK-LABEL: @forward
// CHECK: %[[T:.*]] = nn.total
// CHECK: %[[S:.*]] = nn.elementwise <add> (%[[T]], %[[ONE:.*]]) : {{.*}} -> tensor<f32, #nn.replicated>
// CHECK: nn.elementwise <max> (%[[S]], %{{.*}}) : {{.*}} -> tensor<f32, #nn.replicated>
// CHECK-NOT: nn.share
func.func @forward(%x: tensor<1xf32, #nn.extent<0>>, %mask: tensor<1xf32, #nn.extent<0>>) -> tensor<f32> {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %c = nn.reduce <sum> (%mask) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %p = nn.elementwise <add> (%c, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = nn.elementwise <max> (%p, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %l = nn.elementwise <div> (%s, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A mean over 15 targets of each sample: the total counts targets, which is what the loss is divided by.
// CHECK-LABEL: @forward
// CHECK: %[[ROWS:.*]] = nn.reduce <sum> (%{{.*}}) {axes = array<i64: 0>} : (tensor<1xi64, #nn.batched<0>>) -> tensor<i64, #nn.partial<sum>>
// CHECK: %[[COUNT:.*]] = nn.elementwise <mul> (%[[ROWS]], %{{.*}}) : (tensor<i64, #nn.partial<sum>>, tensor<i64, #nn.replicated>) -> tensor<i64, #nn.partial<sum>>
// CHECK: %[[TOTAL:.*]] = nn.total %[[COUNT]]
// CHECK: nn.cast %[[TOTAL]]
// CHECK-NOT: nn.total
func.func @forward(%x: tensor<1x15xf32, #nn.extent<0>>) -> tensor<f32> {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<1x15xf32, #nn.extent<0>>) -> tensor<f32>
  %n = nn.batch_size : tensor<i64>
  %c = nn.constant {value = dense<15> : tensor<i64>} : tensor<i64>
  %p = nn.elementwise <mul> (%n, %c) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %f = nn.cast %p : tensor<i64> -> tensor<f32>
  %l = nn.elementwise <div> (%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Two means over different numbers of targets: what they share is the number of samples.
// CHECK-LABEL: @forward
// CHECK: %[[ROWS:.*]] = nn.reduce <sum> (%{{.*}}) {axes = array<i64: 0>} : (tensor<1xi64, #nn.batched<0>>) -> tensor<i64, #nn.partial<sum>>
// CHECK: nn.total %[[ROWS]]
// CHECK-NOT: nn.total
func.func @forward(%x: tensor<1x15xf32, #nn.extent<0>>, %y: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %s = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<1x15xf32, #nn.extent<0>>) -> tensor<f32>
  %t = nn.reduce <sum> (%y) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %n = nn.batch_size : tensor<i64>
  %c = nn.constant {value = dense<15> : tensor<i64>} : tensor<i64>
  %d = nn.constant {value = dense<4> : tensor<i64>} : tensor<i64>
  %p = nn.elementwise <mul> (%n, %c) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %q = nn.elementwise <mul> (%n, %d) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %f = nn.cast %p : tensor<i64> -> tensor<f32>
  %g = nn.cast %q : tensor<i64> -> tensor<f32>
  %l = nn.elementwise <div> (%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %k = nn.elementwise <div> (%t, %g) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = nn.elementwise <add> (%l, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
