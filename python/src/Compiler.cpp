// SPDX-License-Identifier: Apache-2.0
// accum_compiler.h for Python.
#include "compiler/Driver/accum_compiler.h"
#include "python/src/Parts.h"
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace accum::python {
namespace {

nb::dict partsOf(const accum_diagnostic &said) {
  nb::dict parts;
  parts["severity"] = said.severity;
  parts["slug"] = said.slug;
  parts["node"] = said.node;
  parts["op"] = said.op;
  parts["text"] = said.text;
  nb::list notes;
  for (const char *const *note = said.notes; *note; ++note)
    notes.append(nb::str(*note));
  parts["notes"] = notes;
  return parts;
}

nb::tuple compile(const std::vector<std::string> &words, bool parsesOnly) {
  std::vector<const char *> given = pointersOf(words);
  accum_compile_options options = {sizeof options, nullptr, nullptr, parsesOnly};
  accum_compilation *raw = nullptr;
  int code = 0;
  {
    nb::gil_scoped_release released;
    code = accum_compile(given.data(), words.size(), &options, &raw);
  }
  std::unique_ptr<accum_compilation, void (*)(accum_compilation *)> compilation(raw, accum_compilation_free);
  nb::list said;
  for (size_t i = 0; const accum_diagnostic *each = accum_compilation_diagnostic(raw, i); ++i)
    said.append(partsOf(*each));
  auto text = [](const char *bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes, Py_ssize_t(std::strlen(bytes)), "replace"));
  };
  return nb::make_tuple(code, text(accum_compilation_text(raw)), text(accum_compilation_json(raw)), said);
}

std::vector<std::string> optionNames() {
  std::vector<std::string> names;
  for (size_t i = 0; const char *name = accum_compiler_option(i); ++i)
    names.emplace_back(name);
  return names;
}

std::string meantBy(const std::string &word, const std::vector<std::string> &known) {
  const char *meant = accum_compiler_meant(word.c_str(), pointersOf(known).data());
  return meant ? meant : "";
}

} // namespace

std::vector<const char *> pointersOf(const std::vector<std::string> &texts) {
  std::vector<const char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

void addCompiler(nb::module_ &module) {
  module.def("compile", compile, nb::arg("words"), nb::arg("parses_only") = false,
             "Words of accumc's command line in; (exit code, text, JSON, diagnostics) out.");
  module.def("compiler_options", optionNames);
  module.def("meant_by", meantBy, nb::arg("word"), nb::arg("known"));
  module.def("compiler_version", [] { return accum_compiler_version(); });
}

} // namespace accum::python
