// SPDX-License-Identifier: Apache-2.0
// Compares with the flags of /proc/cpuinfo.
#include "runtime/system/CpuFeatures.h"
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace accum::runtime {
namespace {

/// "avx512_vnni", "amx-bf16", "sse4.1" without their punctuation.
std::string plain(const std::string &name) {
  std::string text;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += c;
  return text;
}

/// LLVM's word -> the kernel's, where they differ by more than punctuation.
const std::map<std::string, std::string> kKernelWord = {
    {"sse3", "pni"},
    {"lzcnt", "abm"},
    {"sahf", "lahflm"},
    {"pclmul", "pclmulqdq"},
    {"rdrnd", "rdrand"},
    {"sha", "shani"},
    {"x87", "fpu"},
    {"64bit", "lm"},
    {"prfchw", "3dnowprefetch"},
    {"cmov", "cmov"},
    {"crc32", "sse42"},
    {"ermsb", "erms"},
    {"avx512vpopcntdq", "avx512vpopcntdq"},
};

std::set<std::string> flagsOfThisMachine() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      flags.insert(plain(word));
    break;
  }
  return flags;
}

} // namespace

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &needed) {
  std::set<std::string> flags = flagsOfThisMachine();
  std::vector<std::string> missing;
  for (const std::string &feature : needed) {
    std::string word = plain(feature);
    auto other = kKernelWord.find(word);
    if (!flags.count(other == kKernelWord.end() ? word : other->second))
      missing.push_back(feature);
  }
  return missing;
}

} // namespace accum::runtime
