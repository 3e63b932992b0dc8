// SPDX-License-Identifier: Apache-2.0
// The wire format of protobuf: fields of a message, by number, where they lie.
#ifndef ACCUM_BASE_PROTOWIRE_H
#define ACCUM_BASE_PROTOWIRE_H

#include <cstdint>
#include <optional>
#include <string>

namespace accum {

/// Positions are in bytes from the start of the file.
struct ProtoField {
  uint32_t number = 0, wire = 0; ///< wire: 0 varint, 1 eight bytes, 2 with a length, 5 four bytes
  uint64_t begin = 0;            ///< of the tag
  uint64_t value = 0, end = 0;   ///< of what follows tag and length
  uint64_t varint = 0;           ///< of wire 0
};

/// Fields of the message in [at, end) of a file, one after the other.
class ProtoFields {
public:
  ProtoFields(const uint8_t *file, uint64_t at, uint64_t end) : file(file), at(at), end(end) {}

  /// Nothing at the end, and where the bytes are no field: then `isBroken`.
  std::optional<ProtoField> next();
  bool isBroken() const { return !what.empty(); }
  /// Of a broken field: `the length at byte 12 does not end`.
  const std::string &problem() const { return what; }
  /// The number of the field that claims more bytes than are left; 0 where none does.
  uint32_t cutOff() const { return cut; }

private:
  std::optional<uint64_t> varint();
  std::nullopt_t fail(std::string why);

  const uint8_t *file;
  uint64_t at, end;
  std::string what;
  uint32_t cut = 0;
};

void appendVarint(std::string &to, uint64_t value);
/// Tag and length of a field with a length; its `bytes` bytes follow.
void appendLengthTag(std::string &to, uint32_t number, uint64_t bytes);
void appendField(std::string &to, uint32_t number, const std::string &value);
void appendNumber(std::string &to, uint32_t number, uint64_t value);
void appendDouble(std::string &to, uint32_t number, double value);
void appendFloat(std::string &to, uint32_t number, float value);

} // namespace accum
#endif
