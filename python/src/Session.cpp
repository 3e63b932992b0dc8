// SPDX-License-Identifier: Apache-2.0
// accum_runtime.h for Python: one open artifact.
#include "python/src/Arrays.h"
#include "python/src/Failure.h"
#include "python/src/Parts.h"
#include "python/src/SignalsLater.h"
#include "runtime/accum_outputs.h"
#include "runtime/accum_verify.h"
#include <algorithm>
#include <cmath>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>

namespace nb = nanobind;

namespace accum::python {
namespace {

using Text = std::optional<std::string>;

const char *orNull(const Text &text) { return text ? text->c_str() : nullptr; }

/// Names, and texts or nothing.
struct Settings {
  explicit Settings(const std::vector<std::pair<std::string, Text>> &settings) {
    for (const auto &[name, text] : settings) {
      names.push_back(name.c_str());
      texts.push_back(orNull(text));
    }
  }
  std::vector<const char *> names, texts;
};

struct VerifyReport {
  std::vector<std::tuple<std::string, bool, double, double>> checks;
  std::string text;
  void addLine(const char *line) { text += std::string(line) + "\n"; }
};

class Session {
public:
  Session(const std::string &artifact, int threads, int devices, bool skipNan,
          std::optional<uint64_t> randomSeed, bool awaitsWeights, const Text &target, const Text &launcher,
          const Text &offloadDir, bool localBatches) {
    accum_open_options options = {};
    options.size = sizeof options;
    options.threads = threads;
    options.devices = devices;
    options.skip_nan = skipNan;
    options.random_params = randomSeed.has_value();
    options.random_seed = randomSeed.value_or(0);
    options.awaits_weights = awaitsWeights;
    options.target = orNull(target);
    options.launcher = orNull(launcher);
    options.offload_dir = orNull(offloadDir);
    options.local_batches = localBatches;
    check([&] { return accum_open(artifact.c_str(), &options, &session); });
  }
  ~Session() { close(); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void close() {
    if (session)
      accum_close(session);
    session = nullptr;
  }

  void set(const std::vector<std::pair<std::string, Text>> &settings) {
    Settings given(settings);
    check([&] { return accum_set(open(), given.names.data(), given.texts.data(), settings.size()); });
  }

  /// Counts itself: what a signal does behind it does not lose the step.
  nb::tuple step(const NamedArrays &batch, uint64_t seed) {
    Arrays arrays(batch);
    return made([&](accum_step_result &result) {
      return accum_step_arrays(session, steps, arrays.data(), arrays.size(), seed, &result);
    });
  }

  nb::tuple accumulate(const NamedArrays &batch, uint64_t seed) {
    Arrays arrays(batch);
    accum_step_result result = {};
    require(computed([&] {
      return accum_accumulate_arrays(session, steps, arrays.data(), arrays.size(), seed, &result);
    }));
    return valuesOf(result);
  }

  nb::tuple update() {
    return made([&](accum_step_result &result) { return accum_update(session, steps, &result); });
  }

  nb::tuple evaluate(const NamedArrays &batch, const std::string &weights) {
    Arrays arrays(batch);
    accum_evaluation result = {};
    require(computed([&] {
      int code = accum_set_weights(open(), weights.c_str());
      code = code ? code : accum_bind_evaluation_arrays(session, arrays.data(), arrays.size());
      return code ? code : accum_evaluate(session, &result);
    }));
    return nb::make_tuple(result.loss, result.accuracy, result.perplexity, result.samples, result.targets,
                          result.seconds, result.is_best != 0, scalarOutputs());
  }

  /// Names of all outputs that the artifact predicts.
  std::vector<std::string> outputs() {
    std::vector<std::string> all;
    for (size_t i = 0; const char *name = accum_output(open(), i); ++i)
      all.emplace_back(name);
    return all;
  }

  /// By name; of all outputs where `names` is empty.
  nb::dict predict(const NamedArrays &batch, const std::vector<std::string> &names,
                   const std::string &weights) {
    Arrays arrays(batch);
    std::vector<const char *> chosen = pointersOf(names);
    require(computed([&] {
      int code = accum_set_weights(open(), weights.c_str());
      code = code ? code : accum_bind_prediction_arrays(session, arrays.data(), arrays.size());
      if (code)
        return code;
      return accum_predict(session, names.empty() ? nullptr : chosen.data(), 0,
                           accum_prediction_samples(session), nullptr);
    }));
    nb::dict found;
    for (const std::string &name : names.empty() ? outputs() : names) {
      accum_tensor tensor = {};
      require(accum_predicted(session, name.c_str(), &tensor));
      found[name.c_str()] = copyOf(tensor);
    }
    return found;
  }

  /// Checks as (name, ok, measured, allowed), the report's lines, and what is wrong as the C interface says
  /// it. What keeps a check from being made at all is raised.
  nb::tuple verify(const NamedArrays &batch, double seconds, uint64_t seed) {
    Arrays arrays(batch);
    accum_data_options data = {};
    data.size = sizeof data;
    data.seed = seed;
    VerifyReport report;
    accum_verify_options options = {};
    options.size = sizeof options;
    options.seconds = seconds;
    options.data = &data;
    options.arrays = arrays.data();
    options.array_count = arrays.size();
    options.line = [](void *user, const char *text) { static_cast<VerifyReport *>(user)->addLine(text); };
    options.check = [](void *user, const accum_check *check) {
      static_cast<VerifyReport *>(user)->checks.push_back(
          {check->name, check->ok != 0, check->measured, check->allowed});
    };
    options.user = &report;
    int code = computed([&] { return accum_verify(session, &options); });
    std::string wrong = code ? accum_last_error() : "";
    bool isWrong = std::ranges::any_of(report.checks, [](const auto &check) { return !std::get<1>(check); });
    if (!isWrong)
      require(code);
    return nb::make_tuple(report.checks, report.text, wrong);
  }

  nb::object read(const std::string &kind, const std::string &name) {
    accum_tensor tensor = {};
    check([&] { return accum_read(open(), kind.c_str(), name.c_str(), &tensor); });
    return copyOf(tensor);
  }

  /// In the type that `read` gives.
  void write(const std::string &kind, const std::string &name, const nb::object &array) {
    accum_tensor tensor = {};
    check([&] { return accum_read(open(), kind.c_str(), name.c_str(), &tensor); });
    Arrays values({{name, array}});
    const accum_array &given = *values.data();
    if (given.dtype != tensor.dtype)
      raise(2, "error: `" + name + "` is written in the type that it is read in [usage]\n");
    uint64_t bytes = given.dtype == ACCUM_F64 ? 8 : 4;
    for (int32_t d = 0; d < given.rank; ++d)
      bytes *= uint64_t(given.shape[d]);
    check([&] { return accum_write_tensor(open(), kind.c_str(), name.c_str(), given.data, bytes); });
  }

  std::vector<std::string> trained() {
    std::vector<std::string> all;
    for (size_t i = 0; const char *name = accum_trained(open(), i); ++i)
      all.emplace_back(name);
    return all;
  }

  /// On rank 0 alone where the state is in parts.
  void saveTensors(const std::string &kind, const std::string &names, const std::string &path, bool inParts) {
    auto save = [&] { return accum_save(open(), kind.c_str(), names.c_str(), path.c_str(), 0); };
    if (inParts)
      onFirst(save);
    else
      check(save);
  }

  void saveWeights(const std::string &path, const Text &names, const Text &dtype, const Text &model,
                   bool keepOld, const std::string &weights) {
    accum_save_options options = {sizeof options, orNull(names), orNull(dtype), orNull(model), keepOld, 0};
    check([&] { return accum_set_weights(open(), weights.c_str()); });
    onFirst([&] { return accum_save_weights(open(), path.c_str(), &options); });
  }

  int64_t initWeights(const std::string &path, const Text &names, bool partial) {
    accum_init_options options = {sizeof options, path.c_str(), orNull(names), partial};
    int64_t taken = 0;
    check([&] { return accum_init_weights(open(), &options, &taken); });
    return taken;
  }

  void checkpoint(const std::string &root, uint64_t keep, bool inBackground) {
    check([&] {
      if (int code = accum_finish_checkpoint(open(), 1))
        return code;
      if (int code = root == checkpoints ? 0 : takeFolder(root))
        return code;
      if (int code = inBackground && !copies ? accum_checkpoint_background(session) : 0)
        return code;
      copies |= inBackground;
      if (int code = accum_checkpoint(session, root.c_str(), steps, keep))
        return code;
      return inBackground ? 0 : accum_finish_checkpoint(session, 1);
    });
    checkpoints = root;
  }

  /// Behind the end of what is written in the background.
  void finishCheckpoint() {
    if (session)
      check([&] { return accum_finish_checkpoint(session, 1); });
  }

  bool resume(const std::string &path, bool weightsOnly, const std::string &weights) {
    uint64_t step = 0;
    int32_t found = 0;
    check([&] {
      int code = accum_set_weights(open(), weights.c_str());
      return code ? code : accum_resume(session, path.c_str(), weightsOnly, &step, &found);
    });
    if (found)
      steps = step;
    return found != 0;
  }

  nb::dict info() {
    accum_info info;
    accum_get_info(open(), &info);
    nb::dict all;
    all["batch"] = info.batch;
    all["micro_batch"] = info.m;
    all["devices"] = info.devices;
    all["rank"] = info.rank;
    all["ranks"] = info.ranks;
    all["threads"] = info.threads;
    all["arena_bytes"] = info.arena_bytes;
    all["peak_bytes"] = info.peak_bytes;
    all["optimizer"] = info.optimizer;
    all["lr"] = info.lr;
    all["ema"] = info.ema;
    return all;
  }

  std::vector<std::string> notices() {
    std::vector<std::string> all;
    for (size_t i = 0; const char *notice = accum_notice(open(), i); ++i)
      all.emplace_back(notice);
    return all;
  }

  uint64_t stepsMade() const { return steps; }

private:
  template <typename Call> nb::tuple made(Call &&call) {
    accum_step_result result = {};
    int code = computed([&] { return call(result); });
    steps += code == 0;
    require(code);
    return valuesOf(result);
  }

  nb::tuple valuesOf(const accum_step_result &result) const {
    accum_info info;
    accum_get_info(session, &info);
    return nb::make_tuple(steps, result.loss, result.gradient_norm, info.lr, result.samples, result.targets,
                          result.seconds, result.data_seconds, result.micro_steps, result.skipped,
                          info.peak_bytes, scalarOutputs());
  }

  nb::dict scalarOutputs() const {
    nb::dict found;
    double value = 0;
    for (size_t i = 0; const char *name = accum_scalar_output(session, i, &value); ++i)
      found[name] = value;
    return found;
  }

  accum_session *open() const {
    if (!session)
      throw nb::value_error("the session is closed");
    return session;
  }

  /// The message of the last failure belongs to the thread, which the GIL does not change.
  template <typename Call> int computed(Call &&call) {
    open();
    nb::gil_scoped_release released;
    SignalsLater later;
    return call();
  }
  template <typename Call> void check(Call &&call) {
    int code = 0;
    {
      nb::gil_scoped_release released;
      SignalsLater later;
      code = call();
    }
    require(code);
  }

  /// What rank 0 alone writes; the others send it their parts of the state, where it has parts.
  template <typename Call> void onFirst(Call &&call) {
    check([&] {
      accum_info info;
      accum_get_info(open(), &info);
      int code = info.rank == 0 ? call() : 0;
      if (code)
        return code;
      return accum_assist(session);
    });
  }

  /// A folder that several ranks are going to write into; one rank alone takes any.
  int takeFolder(const std::string &root) {
    accum_info info;
    accum_get_info(open(), &info);
    if (info.ranks == 1)
      return 0;
    int own = info.rank == 0 ? accum_lock_checkpoints(root.c_str()) : 0;
    if (own)
      return own; // the others see in the next call that nobody has locked it
    copies = false;
    return accum_share_checkpoints(session, root.c_str());
  }

  accum_session *session = nullptr;
  uint64_t steps = 0;      ///< that were made, over all runs that this one goes on from
  std::string checkpoints; ///< the folder of the latest
  bool copies = false;     ///< checkpoints are written from a copy
};

void checkOptions(const std::string &optimizer, const std::vector<std::pair<std::string, Text>> &settings) {
  Settings given(settings);
  require(accum_check_options(optimizer.c_str(), given.names.data(), given.texts.data(), settings.size()));
}

/// Those that are arguments here: (name, type and default, help, whether a session takes it).
nb::list runOptions() {
  nb::list rows;
  for (size_t i = 0; const accum_run_option *row = accum_run_option_at(i); ++i)
    if (row->python)
      rows.append(nb::make_tuple(row->name, row->python, row->help, row->is_set != 0));
  return rows;
}

std::string describe(const std::string &artifact) {
  char *text = nullptr;
  int code = 0;
  {
    nb::gil_scoped_release released;
    code = accum_describe(artifact.c_str(), &text);
  }
  require(code);
  std::string all = text;
  accum_free(text);
  return all;
}

} // namespace

void addSession(nb::module_ &module) {
  using namespace nb::literals;
  module.def(
      "schedule_ends", [](const std::string &kind) { return accum_schedule_ends(kind.c_str()) != 0; },
      "kind"_a, "Whether a schedule of this name depends on the number of steps.");
  nb::class_<Session>(module, "Session", "One open artifact.")
      .def(nb::init<const std::string &, int, int, bool, std::optional<uint64_t>, bool, const Text &,
                    const Text &, const Text &, bool>(),
           "artifact"_a, "threads"_a = 0, "devices"_a = 0, "skip_nan"_a = false, "random_seed"_a = nb::none(),
           "awaits_weights"_a = false, "target"_a = nb::none(), "launcher"_a = nb::none(),
           "offload_dir"_a = nb::none(), "local_batches"_a = false)
      .def("close", &Session::close)
      .def("set", &Session::set, "settings"_a)
      .def("step", &Session::step, "batch"_a, "seed"_a)
      .def("accumulate", &Session::accumulate, "batch"_a, "seed"_a)
      .def("update", &Session::update)
      .def("write", &Session::write, "kind"_a, "name"_a, "array"_a)
      .def("trained", &Session::trained)
      .def("evaluate", &Session::evaluate, "batch"_a, "weights"_a = "trained")
      .def("verify", &Session::verify, "batch"_a, "seconds"_a, "seed"_a)
      .def("outputs", &Session::outputs)
      .def("predict", &Session::predict, "batch"_a, "names"_a, "weights"_a = "trained")
      .def("read", &Session::read, "kind"_a, "name"_a)
      .def("save_tensors", &Session::saveTensors, "kind"_a, "names"_a, "path"_a, "in_parts"_a = false)
      .def("save_weights", &Session::saveWeights, "path"_a, "names"_a = nb::none(), "dtype"_a = nb::none(),
           "model"_a = nb::none(), "keep_old"_a = true, "weights"_a = "trained")
      .def("init_weights", &Session::initWeights, "path"_a, "names"_a = nb::none(), "partial"_a = false)
      .def("checkpoint", &Session::checkpoint, "root"_a, "keep"_a = 0, "in_background"_a = false)
      .def("finish_checkpoint", &Session::finishCheckpoint)
      .def("resume", &Session::resume, "path"_a, "weights_only"_a = false, "weights"_a = "trained")
      .def("info", &Session::info)
      .def("notices", &Session::notices)
      .def_prop_ro("steps", &Session::stepsMade);
  module.def("check_options", &checkOptions, "optimizer"_a, "settings"_a);
  module.def("run_options", &runOptions);
  module.def("describe", &describe, "artifact"_a);
  module.def("runtime_version", [] { return accum_runtime_version(); });
}

} // namespace accum::python
