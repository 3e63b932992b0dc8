// SPDX-License-Identifier: Apache-2.0
// The planner on a Problem in text form, or on rectangles in CSV.
#include "compiler/Planner/Explain.h"
#include "compiler/Planner/ProblemText.h"
#include "compiler/Planner/Quantity.h"
#include "compiler/Planner/RectangleTable.h"
#include "compiler/Planner/Report/Page.h"
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/Verify.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace accum::planner;

namespace {

struct Flags {
  std::string input, output, report, memory, target = "host", microBatch = "auto";
  std::string recompute = "auto", shard = "none", offload = "none";
  int64_t batch = 0, devices = 0, steps = 0, capacity = 0, effort = 300;
  bool requireDivisible = false, explain = false, json = false;
  std::string commandLine;
};

int fail(const Error &error) {
  static const std::map<std::string, int> codes = {
#define ACCUM_ERROR(slug, exitCode, meaning) {slug, exitCode},
#include "compiler/Driver/Errors.def"
  };
  std::cerr << fmt::format("error: {} [{}]\n", error.message, error.slug);
  for (const std::string &note : error.notes)
    std::cerr << "note: " << note << "\n";
  auto code = codes.find(error.slug);
  return code == codes.end() ? 70 : code->second;
}

Result<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || (file.peek() != EOF && !(text << file.rdbuf())) || file.bad())
    return Error{fmt::format("{}: cannot be read", path), "file-unreadable"};
  return text.str();
}

/// Writes to a file, or to the standard output where no name is given.
Status writeOutput(const std::string &path, const std::string &text) {
  if (path.empty()) {
    std::cout << text;
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  if (!(file << text) || !file.flush())
    return Error{fmt::format("{}: cannot be written", path), "output-failed"};
  return {};
}

int packTable(const Flags &flags, const std::string &text) {
  Result<RectangleTable> table = parseRectangles(text, flags.input);
  if (!table)
    return fail(table.error());
  Packing packing = pack(*table, {.enough = flags.capacity, .visits = flags.effort * 1'000'000});
  int64_t capacity = flags.capacity > 0 ? flags.capacity : packing.height;
  std::cerr << fmt::format("{} rectangles: height {}, lower bound {}\n", table->rows.size(), packing.height,
                           packing.lowerBound);
  if (packing.height > capacity)
    return fail({fmt::format("{}: does not fit into {}: {}", flags.input, capacity,
                             packing.lowerBound > capacity ? "proved" : "gave up"),
                 "does-not-fit"});
  if (Status status = verify(*table, packing.offsets, capacity); !status)
    return fail(status.error());
  Status status = writeOutput(flags.output, toCsv(*table, packing.offsets));
  return status ? 0 : fail(status.error());
}

Result<Options> optionsOf(const Flags &flags, const Problem &problem) {
  Options options{.batch = flags.batch != 0 ? flags.batch : problem.batch,
                  .devices = flags.devices != 0 ? flags.devices : std::max<int64_t>(1, problem.devices)};
  if (options.batch == 0)
    return Error{fmt::format("{} does not say its batch", flags.input), "usage", {"--batch N says it"}};
  Result<MicroBatch> microBatch = parseMicroBatch(flags.microBatch);
  if (!microBatch)
    return microBatch.error();
  options.microBatch = *microBatch;
  if (flags.steps != 0)
    options.accumulationSteps = flags.steps;
  if (!flags.memory.empty()) {
    Result<int64_t> bytes = parseBytes(flags.memory);
    if (!bytes)
      return bytes.error();
    options.budget = *bytes;
  }
  options.requireDivisible = flags.requireDivisible;
  options.recompute = flags.recompute;
  options.shard = flags.shard;
  options.offload = flags.offload;
  return options;
}

Status writeReport(const Flags &flags, const Problem &problem, const DeviceProfile &profile,
                   const Options &options, const Search &search) {
  report::PageFacts facts;
  facts.title = problem.name.empty() ? flags.input : problem.name;
  facts.rows = {{"problem", flags.input}, {"made by", "accum-plan " ACCUM_VERSION}};
  facts.commandLine = flags.commandLine;
  Result<std::string> page = report::writePage(problem, profile, options, search, facts);
  return page ? writeOutput(flags.report, *page) : page.error();
}

int planProblem(const Flags &flags, const std::string &text) {
  Result<Problem> problem = parseProblem(text, flags.input);
  if (!problem)
    return fail(problem.error());
  Result<Options> options = optionsOf(flags, *problem);
  if (!options)
    return fail(options.error());
  Result<DeviceProfile> profile = loadProfile(flags.target);
  if (!profile)
    return fail(profile.error());
  Result<Search> search = solve(*problem, *profile, *options);
  if (!search)
    return fail(search.error());
  for (const std::string &notice : search->notices)
    std::cerr << "notice: " << notice << "\n";
  if (search->plan)
    if (Status status = verify(*problem, *search->plan); !status)
      return fail(status.error());
  if (!flags.report.empty())
    if (Status status = writeReport(flags, *problem, *profile, *options, *search); !status)
      return fail(status.error());
  BudgetAnswers budgets;
  if (flags.json || flags.explain) {
    Result<BudgetAnswers> answers = askBudgets(*problem, *profile, *options, *search);
    if (!answers)
      return fail(answers.error());
    budgets = *answers;
  }
  if (flags.json)
    std::cout
        << toJson(*search, budgets).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
  else
    std::cout << (search->plan ? explainPlan(*search) : "")
              << (flags.explain ? explainSearch(*search, budgets) : "");
  if (!search->plan)
    return fail(explainNoFit(*search));
  if (flags.output.empty())
    return 0;
  Status status = writeOutput(flags.output, toJson(*search->plan));
  return status ? 0 : fail(status.error());
}

void declare(CLI::App &app, Flags &flags) {
  app.set_version_flag("--version", "accum-plan " ACCUM_VERSION);
  app.add_option("PROBLEM", flags.input, "a problem in text form, or id,lower,upper,size as CSV")->required();
  app.add_option("-o", flags.output, "plan.json, or the CSV with offsets");
  app.add_option("--report", flags.report, "the plan as a page: FILE.html");
  app.add_option("--capacity", flags.capacity, "CSV: the height to fit into; by default the lowest found")
      ->check(CLI::Range(int64_t{1}, kAmountLimit));
  app.add_option("--effort", flags.effort, "CSV: millions of rectangles that the exact search looks at")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--memory", flags.memory, "budget per device, such as 16GiB");
  app.add_option("--batch", flags.batch, "global batch; by default what the problem says");
  app.add_option("--devices", flags.devices,
                 "data-parallel devices; by default what the problem says, else 1");
  app.add_option("--target", flags.target, "device profile: a name or FILE.json")->capture_default_str();
  app.add_option("--micro-batch", flags.microBatch, "auto, N, none or MIN..MAX")->capture_default_str();
  app.add_option("--accumulation-steps", flags.steps, "instead of --micro-batch");
  app.add_flag("--require-divisible", flags.requireDivisible, "no ragged last micro-step");
  app.add_option("--recompute", flags.recompute, "auto, none or all");
  app.add_option("--shard", flags.shard, "auto, none, zero1, zero2 or zero3");
  app.add_option("--offload", flags.offload, "auto, none, optimizer or parameters");
  app.add_flag("--explain", flags.explain, "the table of sizes, the peak's tensors, other budgets");
  app.add_flag("--json", flags.json, "the search as one object");
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Plans the micro-batch and the memory of a training step.");
  Flags flags;
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Result<std::string> text = readFile(flags.input);
  if (!text)
    return fail(text.error());
  for (int index = 0; index < argc; ++index)
    flags.commandLine += (index > 0 ? " " : "") + std::string(argv[index]);
  bool isTable = flags.capacity > 0 || flags.input.ends_with(".csv");
  return isTable ? packTable(flags, *text) : planProblem(flags, *text);
}
