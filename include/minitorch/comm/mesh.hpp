// Ranks in a grid with named axes: one communicator an axis.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <minitorch/comm/communicator.hpp>

namespace minitorch {

struct MeshAxis {
  std::string name;
  int size;
};

// Mesh mesh(comm, {{"data", 2}, {"tensor", 2}}): rank r has the coordinates of r in row-major order, so ranks that are neighbours in the
// last axis are neighbours in the launch. mesh["tensor"] is the group of the ranks that differ in that coordinate alone.
class Mesh {
 public:
  // All ranks of `comm` call it with the same axes. Throws ArgumentError when their sizes do not multiply to the number of ranks.
  Mesh(Communicator& comm, std::vector<MeshAxis> axes) : axes_(std::move(axes)) {
    int ranks = 1;
    for (const MeshAxis& a : axes_) ranks *= a.size;
    if (ranks != comm.size())
      fail<ArgumentError>("mesh: the sizes of the axes must multiply to the ranks, got ", ranks, " for ", comm.size());
    int stride = comm.size();
    for (const MeshAxis& a : axes_) {
      stride /= a.size;
      coordinates_.push_back(comm.rank() / stride % a.size);
      groups_.push_back(comm.split(comm.rank() - coordinates_.back() * stride, comm.rank()));
    }
  }

  // Throws ArgumentError for a name that is no axis.
  Communicator& operator[](std::string_view axis) const { return *groups_[index(axis)]; }
  int coordinate(std::string_view axis) const { return coordinates_[index(axis)]; }
  const std::vector<MeshAxis>& axes() const { return axes_; }

 private:
  std::size_t index(std::string_view axis) const {
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].name == axis) return i;
    fail<ArgumentError>("mesh: there is no axis ", axis);
  }

  std::vector<MeshAxis> axes_;
  std::vector<int> coordinates_;
  std::vector<std::unique_ptr<Communicator>> groups_;
};

}  // namespace minitorch
