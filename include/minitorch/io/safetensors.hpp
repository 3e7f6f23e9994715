// The safetensors format: named tensors in one file that PyTorch, JAX and others read. Strict both ways.
// SPDX-License-Identifier: MIT
// Layout (https://github.com/huggingface/safetensors): u64 header length, JSON header, the tensors' bytes, all little-endian.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <minitorch/autograd/factories.hpp>
#include <minitorch/autograd/state_dict.hpp>
#include <minitorch/io/file.hpp>
#include <minitorch/io/json.hpp>

namespace minitorch::io {

using Metadata = std::map<std::string, std::string>;

struct Safetensors {
  StateDict tensors;
  Metadata metadata;
};

struct SafetensorsOptions {
  bool lenient = false;  // accept bytes behind the last tensor, which some writers leave
};

namespace detail {

static_assert(std::endian::native == std::endian::little, "safetensors: only little-endian machines are supported");

inline constexpr std::uint64_t largest_header = 100'000'000;

constexpr std::string_view safetensors_name(DType type) {
  switch (type) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i64: return "I64";
    case DType::boolean: return "BOOL";
  }
  return "?";
}

// A stored type: as it is, or an integer that becomes int64.
struct StoredType {
  std::string_view name;
  std::int64_t size;
  DType type;
  bool is_signed;
};
inline constexpr std::array<StoredType, 12> stored_types{{{"F64", 8, DType::f64, true},
                                                          {"F32", 4, DType::f32, true},
                                                          {"F16", 2, DType::f16, true},
                                                          {"BF16", 2, DType::bf16, true},
                                                          {"I64", 8, DType::i64, true},
                                                          {"BOOL", 1, DType::boolean, false},
                                                          {"I32", 4, DType::i64, true},
                                                          {"I16", 2, DType::i64, true},
                                                          {"I8", 1, DType::i64, true},
                                                          {"U32", 4, DType::i64, false},
                                                          {"U16", 2, DType::i64, false},
                                                          {"U8", 1, DType::i64, false}}};

struct HeaderEntry {
  std::string name;
  const StoredType* type = nullptr;
  Shape shape;
  std::int64_t begin = 0, end = 0;
};

// a b, or nothing if that does not fit 63 bits.
inline std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

inline HeaderEntry read_entry(JsonReader& json, const std::string& name, std::string_view what) {
  HeaderEntry entry{name, nullptr, {}, -1, -1};
  bool shaped = false;
  std::int64_t count = 1;
  json.object([&](const std::string& key) {
    if (key == "dtype" && entry.type == nullptr) {
      const std::string type = json.string();
      for (const StoredType& known : stored_types)
        if (known.name == type) entry.type = &known;
      if (entry.type == nullptr) fail<IoError>(what, ": ", name, " holds ", type, ", which is not supported");
    } else if (key == "shape" && !shaped) {
      shaped = true;
      json.array([&] {
        const std::int64_t size = json.integer();
        const auto bigger = product(count, size);
        if (!bigger || entry.shape.rank() == max_rank)
          fail<IoError>(what, ": the shape of ", name, " has more than ", max_rank, " dimensions or 2^63 elements");
        count = *bigger;
        entry.shape.push_back(size);
      });
    } else if (key == "data_offsets" && entry.begin < 0) {
      json.expect('[');
      entry.begin = json.integer();
      json.expect(',');
      entry.end = json.integer();
      json.expect(']');
    } else {
      fail<IoError>(what, ": ", name, " has an unknown or repeated member ", key);
    }
  });
  if (entry.type == nullptr || !shaped || entry.begin < 0) fail<IoError>(what, ": ", name, " lacks dtype, shape or data_offsets");
  const auto bytes = product(count, entry.type->size);
  if (!bytes || entry.end - entry.begin != *bytes)
    fail<IoError>(what, ": ", name, " of shape ", entry.shape, " does not fill the bytes [", entry.begin, ", ", entry.end, ')');
  return entry;
}

template <class Stored>
void widen(std::int64_t count, const char* from, std::int64_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    to[i] = std::int64_t{0} + value;
  }
}

template <Element T>
AnyTensor copied(const Shape& shape, const char* from) {
  Tensor<T> out = Tensor<T>::empty(shape);
  T* to = out.mutable_data();
  if constexpr (std::same_as<T, bool>) {
    for (std::int64_t i = 0; i < out.numel(); ++i) to[i] = from[i] != 0;
  } else if (out.numel() > 0) {
    std::memcpy(to, from, static_cast<std::size_t>(out.numel()) * sizeof(T));
  }
  return out;
}

// A tensor of numbers as they lie in a file, at any alignment.
inline AnyTensor tensor_from_bytes(const StoredType& type, const Shape& shape, const char* from) {
  if (type.type == DType::i64 && type.size < 8) {
    Tensor<std::int64_t> out = Tensor<std::int64_t>::empty(shape);
    std::int64_t* to = out.mutable_data();
    const std::int64_t n = out.numel();
    if (type.size == 4) type.is_signed ? widen<std::int32_t>(n, from, to) : widen<std::uint32_t>(n, from, to);
    if (type.size == 2) type.is_signed ? widen<std::int16_t>(n, from, to) : widen<std::uint16_t>(n, from, to);
    if (type.size == 1) type.is_signed ? widen<std::int8_t>(n, from, to) : widen<std::uint8_t>(n, from, to);
    return out;
  }
  switch (type.type) {
    case DType::f64: return copied<double>(shape, from);
    case DType::f32: return copied<float>(shape, from);
    case DType::f16: return copied<half>(shape, from);
    case DType::bf16: return copied<bfloat16>(shape, from);
    case DType::i64: return copied<std::int64_t>(shape, from);
    case DType::boolean: return copied<bool>(shape, from);
  }
  return {};
}

}  // namespace detail

// The length of the header and the header; the tensors follow in the order of the returned entries: wide types first, then by name.
inline std::pair<std::string, std::vector<const StateDict::Entry*>> safetensors_header(const StateDict& tensors, const Metadata& metadata) {
  std::vector<const StateDict::Entry*> order;
  for (const StateDict::Entry& entry : tensors) {
    if (entry.first == "__metadata__") fail<ArgumentError>("safetensors: a tensor must not be called __metadata__");
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const std::int64_t size_a = dtype_size(a->second.dtype()), size_b = dtype_size(b->second.dtype());
    return size_a != size_b ? size_a > size_b : a->first < b->first;
  });
  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) json += json_quoted(key) + ':' + json_quoted(value) + ',';
    json.back() = '}';
    json += ',';
  }
  std::int64_t offset = 0;
  for (const auto* entry : order) {
    const AnyTensor& tensor = entry->second;
    json += concat(json_quoted(entry->first), ":{\"dtype\":\"", detail::safetensors_name(tensor.dtype()), "\",\"shape\":[");
    for (int d = 0; d < tensor.shape().rank(); ++d) json += concat(d > 0 ? "," : "", tensor.shape()[d]);
    json += concat("],\"data_offsets\":[", offset, ',', offset + tensor.bytes(), "]},");
    offset += tensor.bytes();
  }
  if (json.back() == ',')
    json.back() = '}';
  else
    json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(header.data(), &length, 8);
  return {header + json, order};
}

// Writes the tensors atomically. Throws IoError, and then a file that was there is as it was.
inline void save_safetensors(const std::filesystem::path& path, const StateDict& tensors, const Metadata& metadata = {}) {
  const auto [header, order] = safetensors_header(tensors, metadata);
  std::vector<std::span<const std::byte>> pieces{bytes_of(header)};
  for (const auto* entry : order) pieces.push_back(entry->second.data());
  write_file(path, pieces);
}

// Reads a whole file that is in memory. Tensors come in the order of their bytes; 8- to 32-bit integers become int64.
// Throws IoError for anything that the format does not allow: truncation, holes, overlaps, bytes left over, a name twice.
inline Safetensors decode_safetensors(std::string_view file, std::string_view what = "safetensors", SafetensorsOptions options = {}) {
  std::uint64_t length = 0;
  if (file.size() < 8) fail<IoError>(what, ": ", file.size(), " bytes are too few for a safetensors file");
  std::memcpy(&length, file.data(), 8);
  if (length > detail::largest_header || length > file.size() - 8)
    fail<IoError>(what, ": a header of ", length, " bytes does not fit into a file of ", file.size());
  const std::string_view header = file.substr(8, static_cast<std::size_t>(length)),
                         data = file.substr(8 + static_cast<std::size_t>(length));
  if (!header.starts_with('{')) fail<IoError>(what, ": the header must start with {");

  Safetensors out;
  std::vector<detail::HeaderEntry> entries;
  bool described = false;
  JsonReader json(header, what);
  json.object([&](const std::string& name) {
    if (name != "__metadata__") return entries.push_back(detail::read_entry(json, name, what));
    if (std::exchange(described, true)) fail<IoError>(what, ": __metadata__ is there twice");
    json.object([&](const std::string& key) {
      if (!out.metadata.emplace(key, json.string()).second) fail<IoError>(what, ": the metadata name ", key, " is there twice");
    });
  });
  json.expect_end();

  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::int64_t offset = 0;
  for (const detail::HeaderEntry& entry : entries) {
    if (entry.begin != offset) fail<IoError>(what, ": ", entry.name, " starts at byte ", entry.begin, " of the data and not at ", offset);
    offset = entry.end;
    if (offset > static_cast<std::int64_t>(data.size()))
      fail<IoError>(what, ": ", entry.name, " ends at byte ", offset, " of ", data.size(), "; the file is truncated");
  }
  if (offset != static_cast<std::int64_t>(data.size()) && !options.lenient)
    fail<IoError>(what, ": ", static_cast<std::int64_t>(data.size()) - offset, " bytes follow the last tensor");
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const detail::HeaderEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail<IoError>(what, ": the name ", *twice, " is there twice");
  for (const detail::HeaderEntry& entry : entries)
    out.tensors.add(entry.name, detail::tensor_from_bytes(*entry.type, entry.shape, data.data() + entry.begin));
  return out;
}

inline Safetensors load_safetensors(const std::filesystem::path& path, SafetensorsOptions options = {}) {
  return decode_safetensors(read_file(path), path.string(), options);
}

}  // namespace minitorch::io
