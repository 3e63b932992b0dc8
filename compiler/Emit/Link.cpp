// SPDX-License-Identifier: Apache-2.0
// Objects -> shared object, by the linker that stands beside LLVM, or inside.
#include "compiler/Emit/Objects.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <tuple>
#ifdef ACCUM_LINKER_INSIDE
#include "lld/Common/Driver.h"

LLD_HAS_DRIVER(elf)
#endif

using namespace llvm;

namespace accum::emit {
namespace {

/// The C library's folders differ by distribution; a linker called without a compiler driver knows none.
constexpr StringRef kLibraryFolders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                         "/usr/lib64"};

void addLibrary(StringRef name, std::vector<std::string> &arguments) {
  for (StringRef folder : kLibraryFolders) {
    std::string path = (folder + "/" + name).str();
    if (!sys::fs::exists(path))
      continue;
    arguments.push_back(path);
    return;
  }
}

#ifdef ACCUM_LINKER_INSIDE
/// The linker is a part of this library.
Error link(ArrayRef<std::string> arguments) {
  std::vector<const char *> words = {"ld.lld"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  std::string said;
  raw_string_ostream stream(said);
  lld::Result result = lld::lldMain(words, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return Error::success();
  return createStringError(formatv("the linker failed: {0}", StringRef(said).trim()).str());
}
#else
Expected<std::string> findLinker() {
  const StringRef besideLLVM[] = {ACCUM_LLVM_BINARIES};
  for (StringRef name : {"ld.lld-22", "ld.lld", "ld"}) {
    auto found = sys::findProgramByName(name, besideLLVM);
    if (!found)
      found = sys::findProgramByName(name);
    if (found)
      return *found;
  }
  return createStringError("no linker: ld.lld-22, ld.lld and ld are neither in " ACCUM_LLVM_BINARIES
                           " nor on PATH; installing lld-22 mends it");
}

Error run(StringRef program, ArrayRef<std::string> arguments) {
  SmallString<128> log;
  if (std::error_code code = sys::fs::createTemporaryFile("accum-link", "log", log))
    return createStringError("no temporary file for the linker's output: %s", code.message().c_str());
  FileRemover removeLog(log);
  SmallVector<StringRef> words = {program};
  words.append(arguments.begin(), arguments.end());
  StringRef logName = log.str();
  std::optional<StringRef> redirects[] = {StringRef(""), logName, logName};
  std::string message;
  if (sys::ExecuteAndWait(program, words, std::nullopt, redirects, 0, 0, &message) == 0)
    return Error::success();
  auto text = MemoryBuffer::getFile(log);
  StringRef said = text ? (*text)->getBuffer().trim() : StringRef();
  return createStringError(formatv("{0} failed: {1}{2}", program, message, said).str());
}

Error link(ArrayRef<std::string> arguments) {
  Expected<std::string> linker = findLinker();
  return linker ? run(*linker, arguments) : linker.takeError();
}
#endif

} // namespace

Error linkSharedObject(ArrayRef<std::string> objects, StringRef path) {
  std::string temporary = (path + ".partial").str();
  std::vector<std::string> arguments = {"-shared", "--build-id=none", "-z", "noexecstack", "--as-needed",
                                        "-o",      temporary};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  addLibrary("libm.so.6", arguments);
  addLibrary("libc.so.6", arguments);
  if (Error error = link(arguments)) {
    std::ignore = sys::fs::remove(temporary);
    return error;
  }
  if (std::error_code code = sys::fs::rename(temporary, path))
    return createStringError("%s cannot be written: %s", path.str().c_str(), code.message().c_str());
  return Error::success();
}

} // namespace accum::emit
