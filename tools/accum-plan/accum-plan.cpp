// SPDX-License-Identifier: Apache-2.0
// The planner on a Problem in text form, or on rectangles in CSV.
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "tools/accum-plan/Surface.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <fmt/format.h>
#include <new>
#include <span>

using namespace accum::planner;

namespace {

/// Of the flags, those that say something about a problem only, and about rectangles only.
constexpr const char *kProblemFlags[] = {"--report",
                                         "--batch",
                                         "--devices",
                                         "--target",
                                         "--micro-batch",
                                         "--accumulation-steps",
                                         "--require-divisible",
                                         "--recompute",
                                         "--prefer",
                                         "--shard",
                                         "--offload",
                                         "--json"};
constexpr const char *kTableFlags[] = {"--capacity", "--effort"};

std::string isSeed(const std::string &text) {
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = failed == std::errc() && end == text.data() + text.size();
  return whole ? "" : fmt::format("{} is no number from 0 to 2^64 - 1", text);
}

/// A size with a unit as a number of bytes; all else stays as it is.
std::string inBytes(std::string &text) {
  if (Result<int64_t> bytes = parseBytes(text); bytes && text.find_first_not_of("0123456789") != text.npos)
    text = std::to_string(*bytes);
  return "";
}

void declare(CLI::App &app, Flags &flags) {
  app.set_version_flag("--version", "accum-plan " ACCUM_VERSION);
  app.footer("Examples:\n"
             "  accum-plan gpt2.problem --memory 16GiB --explain\n"
             "  accum-plan rectangles.csv --capacity 1048576 -o packed.csv");
  app.add_option("PROBLEM", flags.input, "a problem in text form, or id,lower,upper,size as CSV")->required();
  app.add_option("-o", flags.output, "plan.json, or the CSV with offsets");
  app.add_option("--report", flags.report, "the plan as a page: FILE.html");
  app.add_option("--capacity", flags.capacity, "CSV: the height to fit into; by default the lowest found")
      ->check(CLI::Range(int64_t{1}, kAmountLimit))
      ->transform(CLI::Validator(inBytes, ""));
  app.add_option("--effort", flags.effort, "CSV: millions of rectangles that the exact search looks at")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--deadline", flags.seconds, "seconds after which the search ends with what it has");
  app.add_option("--seed", flags.seed, "of what is random in the search")->check(isSeed);
  app.add_option("--memory", flags.memory, "budget per device, such as 16GiB; CSV: the capacity");
  app.add_option("--batch", flags.batch, "global batch; by default what the problem says")
      ->check(countComplaint);
  app.add_option("--devices", flags.devices,
                 "data-parallel devices; by default what the problem says, else 1")
      ->check(countComplaint);
  app.add_option("--target", flags.target, "device profile: a name or FILE.json")->capture_default_str();
  app.add_option("--micro-batch", flags.microBatchText, "auto, N, none or MIN..MAX")->capture_default_str();
  app.add_option("--accumulation-steps", flags.accumulationSteps, "instead of --micro-batch")
      ->check(countComplaint);
  app.add_flag("--require-divisible", flags.requireDivisible, "no ragged last micro-step");
  app.add_option("--recompute", flags.recompute, "auto, none or all");
  app.add_option("--prefer", flags.prefer, "balanced, speed or memory")->capture_default_str();
  app.add_option("--shard", flags.shard, "auto, none, zero1, zero2 or zero3");
  app.add_option("--offload", flags.offload, "auto, none, optimizer or parameters");
  app.add_flag("--explain", flags.explain,
               "the table of sizes, the peak's tensors, other budgets; CSV: the stages");
  app.add_flag("--json", flags.json, "the search as one object");
}

/// The first line that says something decides; both forms may begin with comments.
bool isTable(const Flags &flags, std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  auto skip = [&](size_t to) { text = text.substr(std::min(to, text.size())); };
  skip(text.find_first_not_of(" \t\r\n"));
  while (text.starts_with("#")) {
    skip(text.find('\n'));
    skip(text.find_first_not_of(" \t\r\n"));
  }
  if (text.starts_with("accum-problem"))
    return false;
  return flags.capacity > 0 || flags.input.ends_with(".csv") ||
         text.substr(0, text.find('\n')).find(',') != text.npos;
}

int run(const CLI::App &app, Flags &flags) {
  if (app.count("--deadline") > 0 && !(flags.seconds > 0 && flags.seconds <= 1e6))
    return fail({fmt::format("--deadline is {}, expected seconds above 0", flags.seconds), "usage"});
  if (flags.seconds > 0)
    flags.deadline = Deadline::in(flags.seconds); // what reading takes counts too
  Result<std::string> text = readInput(flags.input);
  if (!text)
    return fail(text.error());
  bool table = isTable(flags, *text);
  for (const char *name : table ? std::span<const char *const>(kProblemFlags) : kTableFlags)
    if (app.count(name) > 0)
      return fail(
          {fmt::format("{} says nothing about {}", name, table ? "rectangles" : "a problem"), "usage"});
  return table ? packTable(flags, *text) : planProblem(flags, *text);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Plans the micro-batch and the memory of a training step.");
  Flags flags;
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError &error) {
    return fail({error.what(), "usage"});
  }
  for (int index = 0; index < argc; ++index)
    flags.commandLine += (index > 0 ? " " : "") + std::string(argv[index]);
  try {
    return run(app, flags);
  } catch (const std::bad_alloc &) {
    return fail({flags.input + ": there is not enough memory to plan it", "file-unreadable"});
  }
}
