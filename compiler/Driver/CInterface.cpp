// SPDX-License-Identifier: Apache-2.0
// accum_compiler.h in front of the driver: keeps what is said, and hands it on.
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/UnknownArguments.h"
#include "compiler/Driver/accum_compiler.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>

using namespace accum::driver;

namespace {

/// A message, and the pointers into it.
struct Said {
  Message message;
  std::string slug;
  NodeName node;
  std::vector<const char *> notes;
  accum_diagnostic view = {};

  explicit Said(Message own)
      : message(std::move(own)), slug(slugOf(message.text)), node(nodeIn(message.text)) {
    for (const std::string &note : message.notes)
      notes.push_back(note.c_str());
    notes.push_back(nullptr);
    view = {sizeof view,     static_cast<int32_t>(message.severity),
            slug.c_str(),    node.name.c_str(),
            node.op.c_str(), message.text.c_str(),
            notes.data()};
  }
  Said(const Said &) = delete;
  Said &operator=(const Said &) = delete;
};

/// "error: SENTENCE\nnote: ..." of what the command line is refused for.
Message usageMessage(const std::string &text) {
  Message message;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(text).trim(), '\n'))
    if (line.consume_front("note: "))
      message.notes.push_back(line.str());
    else
      message.text += (message.text.empty() ? "" : "\n") + (line.consume_front("error: "), line.str());
  return message;
}

} // namespace

struct accum_compilation final : Output {
  explicit accum_compilation(const accum_compile_options *options) {
    if (options) {
      accum_compile_options known = {}; // a caller of an older header has fewer
      std::memcpy(&known, options, std::min<size_t>(options->size, sizeof known));
      writer = known.writer;
      user = known.user;
      parsesOnly = known.parses_only != 0;
    }
  }

  void message(const Message &message) override {
    said.emplace_back(message);
    write(2, toText(message));
  }
  void text(const std::string &lines) override {
    summary += lines;
    if (!isJson)
      write(1, lines);
  }
  void json(const std::string &object) override {
    this->object += object;
    write(1, object);
  }

  void write(int32_t stream, const std::string &text) const {
    if (writer && !text.empty())
      writer(user, stream, text.data(), text.size());
  }

  accum_compiler_writer writer = nullptr;
  void *user = nullptr;
  bool isJson = false, parsesOnly = false;
  std::deque<Said> said; // which stay where they are
  std::string summary, object;
};

static int run(std::vector<std::string> words, accum_compilation &compilation) {
  words.insert(words.begin(), "accumc");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ParsedOptions parsed = parseOptions(static_cast<int>(words.size()), argv.data());
  if (parsed.options) {
    if (compilation.parsesOnly)
      return 0;
    compilation.isJson = parsed.options->json;
    parsed.options->sink = &compilation;
    return compile(*parsed.options);
  }
  if (parsed.exitCode == 0)
    compilation.text(parsed.text);
  else
    compilation.message(usageMessage(parsed.text));
  return parsed.exitCode;
}

extern "C" {

const char *accum_compiler_version(void) { return ACCUM_VERSION; }

int accum_compile(const char *const *words, size_t count, const accum_compile_options *options,
                  accum_compilation **compilation) {
  static std::mutex oneAtATime;
  std::lock_guard lock(oneAtATime);
  *compilation = new accum_compilation(options);
  try {
    return run({words, words + count}, **compilation);
  } catch (const std::exception &exception) {
    (*compilation)
        ->message(
            {Severity::Error, "", std::string("the compiler ran out of something: ") + exception.what(), {}});
    return 70;
  }
}

const char *accum_compiler_option(size_t index) {
  static const std::vector<std::string> names = optionNames();
  return index < names.size() ? names[index].c_str() + 2 : nullptr;
}

const char *accum_compiler_meant(const char *word, const char *const *known) {
  static thread_local std::string meant;
  std::vector<std::string> names;
  for (; *known; ++known)
    names.push_back(std::string("--") + *known);
  meant = meantBy(word, names);
  return meant.empty() ? nullptr : meant.c_str() + 2;
}

void accum_compilation_free(accum_compilation *compilation) { delete compilation; }

const accum_diagnostic *accum_compilation_diagnostic(const accum_compilation *compilation, size_t index) {
  return index < compilation->said.size() ? &compilation->said[index].view : nullptr;
}

const char *accum_compilation_text(const accum_compilation *compilation) {
  return compilation->summary.c_str();
}

const char *accum_compilation_json(const accum_compilation *compilation) {
  return compilation->object.c_str();
}

} // extern "C"
