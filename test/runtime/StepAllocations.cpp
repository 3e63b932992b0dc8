// SPDX-License-Identifier: Apache-2.0
// Run by mpirun with an artifact and its data: counts what is allocated inside steps, apart for our code and
// for libraries, by the object that asked. Exit 0 when ours allocated nothing and libraries, which
// copy what they sum over ranks, less than the state holds.
#include "runtime/accum_runtime.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <link.h>
#include <new>
#include <string_view>

namespace {

constexpr uint64_t kWarmUp = 3, kSteps = 10;

struct Range {
  uintptr_t begin = 0, end = 0;
};
std::array<Range, 256> libraries; ///< where foreign code lies; filled before counting
size_t libraryCount = 0;

struct Tally {
  std::atomic<int64_t> calls{0}, bytes{0};
} ours, theirs;
std::atomic<bool> counting{false};

void count(size_t bytes, const void *caller) {
  if (!counting)
    return;
  auto at = reinterpret_cast<uintptr_t>(caller);
  bool foreign = false;
  for (size_t i = 0; i < libraryCount; ++i)
    foreign |= at >= libraries[i].begin && at < libraries[i].end;
  Tally &tally = foreign ? theirs : ours;
  ++tally.calls;
  tally.bytes += int64_t(bytes);
}

/// MPI with what it loads, and oneDNN with its threads. The C and C++ libraries act for whom they are called
/// by: they count as ours.
bool isForeign(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const char *part : {"libmpi", "libopen-", "mca_", "libpmix", "libevent", "libhwloc", "libdnnl",
                           "libgomp", "libfabric", "libuc", "libibverbs", "libpsm", "libmunge"})
    if (name.starts_with(part))
      return true;
  return false;
}

int addObject(dl_phdr_info *object, size_t, void *) {
  for (int i = 0; isForeign(object->dlpi_name) && i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = object->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) && libraryCount < libraries.size())
      libraries[libraryCount++] = {object->dlpi_addr + part.p_vaddr,
                                   object->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 0;
}

int fail(const char *what) {
  std::fprintf(stderr, "%s: %s", what, accum_last_error());
  return 1;
}

} // namespace

// Every allocation of the process goes through these.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *malloc(size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return __libc_malloc(bytes);
}
void *calloc(size_t number, size_t bytes) {
  count(number * bytes, __builtin_return_address(0));
  return __libc_calloc(number, bytes);
}
void *realloc(void *old, size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return __libc_realloc(old, bytes);
}
}

void *operator new(size_t bytes) {
  count(bytes, __builtin_return_address(0));
  if (void *memory = __libc_malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

int main(int argc, char **argv) {
  accum_session *session = nullptr;
  accum_data_options order{};
  order.size = sizeof order;
  order.shuffle = 1;
  order.seed = 5;
  if (argc != 3 || accum_open(argv[1], nullptr, &session))
    return fail("open");
  if (accum_bind_files(session, &argv[2], 1, &order))
    return fail("bind");
  accum_step_result result;
  for (uint64_t step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp)
      dl_iterate_phdr(addObject, nullptr);
    counting = step >= kWarmUp;
    int code = accum_step(session, step, &result);
    counting = false;
    if (code)
      return fail("step");
  }
  accum_info info;
  accum_get_info(session, &info);
  std::printf("rank %d of %d: ours %lld times %lld bytes, libraries %lld times %lld bytes in %llu steps\n",
              info.rank, info.ranks, static_cast<long long>(ours.calls), static_cast<long long>(ours.bytes),
              static_cast<long long>(theirs.calls), static_cast<long long>(theirs.bytes),
              static_cast<unsigned long long>(kSteps));
  bool bounded = uint64_t(theirs.bytes) < kSteps * info.state_bytes;
  accum_close(session);
  return ours.calls != 0 || !bounded;
}
