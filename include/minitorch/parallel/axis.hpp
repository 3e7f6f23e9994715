// An axis of the mesh: the ranks that share a value, and how many virtual shards each of them holds.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <minitorch/comm/communicator.hpp>
#include <minitorch/core/error.hpp>

namespace minitorch::parallel {

// The name of an axis as part of a type: Placed<float, Partial, "tensor">.
template <std::size_t Size>
struct AxisName {
  char text[Size];
  constexpr AxisName(const char (&name)[Size]) {  // NOLINT: a literal is a name
    for (std::size_t i = 0; i < Size; ++i) text[i] = name[i];
  }
};

// A group of ranks and the number V of shards that values are cut into: by default one a rank. With more, each rank holds V / size()
// neighbouring shards and adds them by the same tree as ranks do, so that 1, 2, 4, ... ranks get the same bits.
class Axis {
 public:
  // Throws ArgumentError unless virtual_shards is a multiple of the ranks, and both are powers of two when they differ.
  Axis(Communicator& comm, int virtual_shards = 0)  // NOLINT: a communicator is an axis with one shard a rank
      : comm_(&comm), shards_(virtual_shards == 0 ? comm.size() : virtual_shards) {
    const bool powers = std::has_single_bit(static_cast<unsigned>(shards_)) && std::has_single_bit(static_cast<unsigned>(comm.size()));
    if (shards_ < comm.size() || shards_ % comm.size() != 0 || (shards_ != comm.size() && !powers))
      fail<ArgumentError>("axis: virtual shards must be a power of two that the ranks divide, got ", shards_, " shards for ", comm.size(),
                          " ranks");
  }

  Communicator& comm() const { return *comm_; }
  int shards() const { return shards_; }
  int local_shards() const { return shards_ / comm_->size(); }
  // The number of this rank's shard `local` among all.
  int shard(int local) const { return comm_->rank() * local_shards() + local; }

  // The length of one shard of `length`. Throws ShapeError if the shards do not divide it.
  std::int64_t shard_length(std::int64_t length, const char* what) const {
    if (length % shards_ != 0) fail<ShapeError>(what, ": ", length, " is not divisible by ", shards_, " shards");
    return length / shards_;
  }

  friend bool operator==(const Axis&, const Axis&) = default;

 private:
  Communicator* comm_;
  int shards_;
};

}  // namespace minitorch::parallel
