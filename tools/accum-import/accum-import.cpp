// SPDX-License-Identifier: Apache-2.0
// Debugging tool: the imported module of an ONNX file, before any check.
#include "compiler/Import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace accum::import;

static void print(const Failure &failure) {
  fmt::print(stderr, "error: {}: {} [{}]\n", failure.subject, failure.message, failure.slug);
  for (const std::string &note : failure.notes)
    fmt::print(stderr, "note: {}\n", note);
}

static void print(const ImportReport &report) {
  fmt::print(stderr, "model    {}, opset {}; {} tensors, {} elements trained; {} frozen\n", report.producer,
             report.opset, report.tensorsTrained, report.elementsTrained, report.tensorsFrozen);
  fmt::print(stderr, "loss     {}\n", report.loss);
  for (const std::string &other : report.otherLosses)
    fmt::print(stderr, "         otherwise: {}\n", other);
  fmt::print(stderr, "batch    `{}`\n", report.batchDim);
  for (const std::string &tie : report.ties)
    fmt::print(stderr, "tied     {}\n", tie);
  for (const std::string &notice : report.notices)
    fmt::print(stderr, "note: {}\n", notice);
  for (const Failure &failure : report.deferred)
    print(failure);
}

int main(int argc, char **argv) {
  CLI::App app("prints the imported module of an ONNX file");
  ImportOptions options;
  std::vector<std::string> dims;
  bool quiet = false, locations = false, all = false;
  app.set_version_flag("--version", "accum-import " ACCUM_VERSION);
  app.add_option("model", options.path)->required();
  app.add_option("--dim", dims, "NAME=SIZE")->take_all();
  app.add_option("--batch-dim", options.batchDim);
  app.add_option("--loss", options.loss);
  app.add_flag("--plan-only", options.planOnly);
  app.add_flag("--untie", options.parameters.untie);
  app.add_flag("--quiet", quiet, "print no module");
  app.add_flag("--print-all", all, "print large constants");
  app.add_flag("--locations", locations, "print the ONNX nodes' names");
  CLI11_PARSE(app, argc, argv);
  for (const std::string &dim : dims) {
    size_t split = dim.find('=');
    if (split == std::string::npos)
      return app.exit(CLI::ValidationError("--dim", "expected NAME=SIZE"));
    options.dims[dim.substr(0, split)] = std::strtoll(dim.c_str() + split + 1, nullptr, 10);
  }
  mlir::MLIRContext context;
  ImportReport report;
  Failures failures;
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(context, options, report, failures);
  for (const Failures &all : {failures, report.crossBatch})
    for (const Failure &failure : all)
      print(failure);
  if (!module || !report.crossBatch.empty())
    return 1;
  print(report);
  mlir::OpPrintingFlags flags;
  if (!all)
    flags.elideLargeElementsAttrs(64);
  if (!quiet)
    module->print(llvm::outs(), locations ? flags.enableDebugInfo(true, true) : flags);
  return mlir::succeeded(mlir::verify(*module)) ? 0 : 70;
}
