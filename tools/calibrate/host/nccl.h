// NVIDIA's collectives, loaded where they are installed, and not needed to build. Of bf16 alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "models/hardware/collectives.h"

namespace kvsim::calibrate {

class Nccl {
 public:
  /// Null where the library is not there, with the reason in `why`.
  [[nodiscard]] static std::unique_ptr<Nccl> open(std::string& why, const char* library = "libnccl.so.2");
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;
  ~Nccl();

  /// "2.27.3".
  [[nodiscard]] std::string version() const;

  /// GPUs of this process that talk to each other, one after the other from 0. It must not outlive the library.
  class Group {
   public:
    /// Throws std::runtime_error.
    Group(const Nccl& nccl, int gpus);
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group();
    [[nodiscard]] int size() const { return static_cast<int>(communicators_.size()); }

    /// Puts one rank's part of a collective onto its stream (a cudaStream_t). The message has `elements` of bf16 in
    /// all, a multiple of the group's size: before it (all-reduce, reduce-scatter, all-to-all) or after it
    /// (all-gather). Throws std::runtime_error.
    void run(models::Collective operation, int rank, const void* send, void* receive, std::size_t elements,
             void* stream) const;

   private:
    const Nccl& nccl_;
    std::vector<void*> communicators_;
  };

 private:
  struct Functions;
  explicit Nccl(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

}  // namespace kvsim::calibrate
