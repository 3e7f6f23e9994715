// NumPy's .npy format: one array in a file.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <minitorch/io/safetensors.hpp>

namespace minitorch::io {

namespace detail {

struct NpyType {
  std::string_view descr;
  StoredType stored;
};
inline constexpr std::array<NpyType, 11> npy_types{{{"<f8", {"", 8, DType::f64, true}},
                                                    {"<f4", {"", 4, DType::f32, true}},
                                                    {"<f2", {"", 2, DType::f16, true}},
                                                    {"<i8", {"", 8, DType::i64, true}},
                                                    {"|b1", {"", 1, DType::boolean, false}},
                                                    {"<i4", {"", 4, DType::i64, true}},
                                                    {"<i2", {"", 2, DType::i64, true}},
                                                    {"|i1", {"", 1, DType::i64, true}},
                                                    {"<u4", {"", 4, DType::i64, false}},
                                                    {"<u2", {"", 2, DType::i64, false}},
                                                    {"|u1", {"", 1, DType::i64, false}}}};

// The value after 'key': in a Python dictionary of one line.
inline std::string_view npy_value(std::string_view header, std::string_view key, std::string_view what) {
  const std::size_t at = header.find(concat('\'', key, "':"));
  if (at == header.npos) fail<IoError>(what, ": the header has no '", key, "'");
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix((std::min)(value.find_first_not_of(' '), value.size()));
  const std::size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  if (end == value.npos) fail<IoError>(what, ": the header's '", key, "' does not end");
  return value.substr(0, end);
}

inline Shape npy_shape(std::string_view tuple, std::string_view what) {
  Shape shape;
  std::int64_t count = 1;
  for (tuple.remove_prefix(1); !tuple.empty();) {
    if (tuple.front() == ' ' || tuple.front() == ',') {
      tuple.remove_prefix(1);
      continue;
    }
    std::int64_t size = -1;
    const auto [end, error] = std::from_chars(tuple.data(), tuple.data() + tuple.size(), size);
    const auto bigger = size >= 0 && error == std::errc() ? product(count, size) : std::nullopt;
    if (!bigger || shape.rank() == max_rank) fail<IoError>(what, ": the header's shape is not one of up to ", max_rank, " dimensions");
    count = *bigger;
    shape.push_back(size);
    tuple.remove_prefix(static_cast<std::size_t>(end - tuple.data()));
  }
  return shape;
}

// Column-version elements in row-version order.
inline std::string row_major(std::string_view data, const Shape& shape, std::int64_t size) {
  std::string out(data.size(), '\0');
  const std::int64_t count = shape.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, from = 0, stride = count;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      stride /= shape[d];
      from += rest % shape[d] * stride;
      rest /= shape[d];
    }
    std::memcpy(out.data() + i * size, data.data() + from * size, static_cast<std::size_t>(size));
  }
  return out;
}

}  // namespace detail

// Reads an array; column-version ones are transposed, integers become int64. Throws IoError.
inline AnyTensor decode_npy(std::string_view file, std::string_view what = "npy") {
  if (file.size() < 10 || file.substr(0, 6) != "\x93NUMPY") fail<IoError>(what, ": not an .npy file");
  const int version = static_cast<unsigned char>(file[6]);
  const std::size_t start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || file.size() < start) fail<IoError>(what, ": version ", version, " is not supported");
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > file.size() - start) fail<IoError>(what, ": a header of ", length, " bytes does not fit into a file of ", file.size());
  const std::string_view header = file.substr(start, length), data = file.substr(start + length);

  const std::string_view descr = detail::npy_value(header, "descr", what);
  const detail::NpyType* type = nullptr;
  for (const auto& known : detail::npy_types)
    if (descr.size() > 2 && descr.substr(1, descr.size() - 2) == known.descr) type = &known;
  if (type == nullptr) fail<IoError>(what, ": the type ", descr, " is not supported");
  const Shape shape = detail::npy_shape(detail::npy_value(header, "shape", what), what);
  const auto bytes = detail::product(shape.numel(), type->stored.size);
  if (!bytes || *bytes != static_cast<std::int64_t>(data.size()))
    fail<IoError>(what, ": shape ", shape, " of ", descr, " does not fill ", data.size(), " bytes");
  if (detail::npy_value(header, "fortran_order", what) == "True" && shape.rank() > 1)
    return detail::tensor_from_bytes(type->stored, shape, detail::row_major(data, shape, type->stored.size).data());
  return detail::tensor_from_bytes(type->stored, shape, data.data());
}

inline AnyTensor load_npy(const std::filesystem::path& path) { return decode_npy(read_file(path), path.string()); }

// Writes an array atomically. NumPy has no bfloat16: throws ArgumentError for one; convert it to float.
inline void save_npy(const std::filesystem::path& path, const AnyTensor& tensor) {
  std::string_view descr;
  for (const auto& known : detail::npy_types)
    if (known.stored.type == tensor.dtype() && known.stored.size == dtype_size(tensor.dtype())) descr = known.descr;
  if (descr.empty()) fail<ArgumentError>("save_npy: NumPy has no ", dtype_name(tensor.dtype()), "; convert the tensor with .to<float>()");
  std::string header = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int d = 0; d < tensor.shape().rank(); ++d)
    header += concat(tensor.shape()[d], tensor.shape().rank() == 1 ? "," : d + 1 < tensor.shape().rank() ? ", " : "");
  header += "), }";
  header.resize((10 + header.size()) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  const std::array<std::span<const std::byte>, 2> pieces{bytes_of(start), tensor.data()};
  write_file(path, pieces);
}

}  // namespace minitorch::io
