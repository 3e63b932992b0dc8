// SPDX-License-Identifier: Apache-2.0
// How many samples a step has, and on how many devices.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"
#include <charconv>

namespace accum::run {
namespace {

/// A whole number of at most 18 digits, and what follows it.
std::optional<int64_t> leadingNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 0 || end == text.data())
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

/// `0:64,1000:256`; what is wrong with it, or nothing. Whether it is a schedule is the runtime's to say.
std::string readSchedule(std::string_view text, std::vector<accum_batch_change> &changes) {
  std::string given(text);
  changes.clear();
  while (true) {
    auto step = leadingNumber(text);
    bool isPair = step && text.starts_with(':');
    text.remove_prefix(isPair ? 1 : 0);
    auto batch = isPair ? leadingNumber(text) : std::nullopt;
    if (!batch || (!text.empty() && !text.starts_with(',')))
      return "`" + given + "` is not STEP:BATCH,... like 0:64,1000:256";
    changes.push_back({uint64_t(*step), *batch});
    if (text.empty())
      return "";
    text.remove_prefix(1);
  }
}

} // namespace

void addBatch(CLI::App &app, Options &options) {
  app.add_option("--devices", options.devices,
                 "processes, one device each (default: what the artifact was compiled for, or what mpirun "
                 "or srun started)")
      ->check(wholeNumber(1, INT32_MAX));
  app.add_option(
         "--offload-dir", options.offloadDir,
         "folder for the file of offloaded state, which disappears with the run (default: the artifact's)")
      ->type_name("DIR");
  app.add_option("--batch-schedule")
      ->each([](const std::string &) {})
      ->check([&](const std::string &text) { return readSchedule(text, options.batches); })
      ->description("global batch from each step on, as in 0:64,1000:256; the micro-batch stays")
      ->type_name("STEP:BATCH,...");
}

} // namespace accum::run
