// RUN: accum-opt %s --split-input-file --verify-diagnostics --accum-lower-math --accum-refuse-library-math

llvm.func @f64(%x: f64) -> f64 {
  // expected-error @below {{kernel function math.exp of 'f64' is not built for GPUs [unsupported]}}
  %y = math.exp %x : f64
  llvm.return %y : f64
}

// -----

llvm.func @power(%x: f32, %y: f32) -> f32 {
  // expected-error @below {{kernel function math.powf of 'f32' is not built for GPUs [unsupported]}}
  %z = math.powf %x, %y : f32
  llvm.return %z : f32
}

// -----

llvm.func @good(%x: f32) -> f32 {
  %a = math.sqrt %x : f32
  %b = math.erf %a : f32
  %c = math.tanh %b : f32
  %d = math.sin %c : f32
  %e = math.log1p %d : f32
  llvm.return %e : f32
}
