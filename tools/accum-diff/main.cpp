// SPDX-License-Identifier: Apache-2.0
// accum-diff: how far two safetensors files are apart. Exit 1: beyond the tolerance, or not the same tensors.
#include "runtime/system/Status.h"
#include "tools/accum-diff/Report.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace accum;

namespace {

struct Options {
  std::string a, b;
  std::optional<double> tolerance;
  std::vector<std::string> skipped;
  size_t rows = 10;
  bool json = false, version = false;
};

void declare(CLI::App &app, Options &options) {
  app.footer("Examples:\n"
             "  accum-diff before.safetensors after.safetensors\n"
             "  accum-diff a.safetensors b.safetensors --tolerance 1e-5 && echo same");
  app.add_option("A", options.a, "safetensors file");
  app.add_option("B", options.b, "safetensors file");
  app.add_option("--tolerance", options.tolerance,
                 "largest relative difference of any tensor that is no error")
      ->check(CLI::Validator(
          [](std::string &text) {
            char *end = nullptr;
            bool isIn = std::strtod(text.c_str(), &end) >= 0 && end != text.c_str() && *end == '\0';
            return isIn ? "" : "`" + text + "` is not a number from 0 on";
          },
          "X"));
  app.add_option("--skip", options.skipped, "leave out tensors that match")->type_name("GLOB...");
  app.add_option("--rows", options.rows, "worst tensors to show (default 10)");
  app.add_flag("--json", options.json, "one JSON object");
  app.add_flag("--version", options.version, "print the version");
}

int fail(const runtime::Error &error) {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

int run(const Options &options) {
  if (options.a.empty() || options.b.empty())
    return fail({runtime::kExitUsage, "two files are required", "usage", {"accum-diff --help"}});
  auto a = runtime::readSafetensors(options.a), b = runtime::readSafetensors(options.b);
  if (!a || !b)
    return fail(a ? b.error() : a.error());
  diff::Comparison comparison = diff::compare(*a, *b, options.skipped);
  std::fputs((options.json ? toJson(comparison) : toText(comparison, options.rows)).c_str(), stdout);
  bool beyond = options.tolerance && !(comparison.worst() <= *options.tolerance);
  return beyond || !comparison.sameTensors() || comparison.tensors.empty() ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Compares two safetensors files tensor by tensor.", "accum-diff");
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail({runtime::kExitUsage, error.what(), "usage", {"accum-diff --help"}});
  }
  if (options.version) {
    std::puts("accum-diff " ACCUM_VERSION);
    return 0;
  }
  return run(options);
}
