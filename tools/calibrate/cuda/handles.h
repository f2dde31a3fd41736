// Owners of CUDA's things, and the look at every CUDA call's status. Errors while releasing are ignored: there is
// nobody left to tell.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

namespace kvsim::calibrate {

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel's output is not what the reference says.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws WrongResult where the bytes differ.
inline void expect_same(const std::byte* got, const std::byte* expected, std::size_t bytes, const std::string& what) {
  if (std::memcmp(got, expected, bytes) != 0) throw WrongResult(what + ": wrong data");
}

/// Throws CudaError with the file and line of the caller (by compilers' built-ins: clang 14 has no
/// std::source_location).
inline void check(cudaError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == cudaSuccess) return;
  const std::string path = file;
  throw CudaError(std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ", " +
                  path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line) + ")");
}

/// After a launch: its configuration was accepted. What goes wrong while it runs shows at the next synchronisation.
inline void check_launch(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(cudaGetLastError(), file, line);
}

/// Uninitialised memory of the device.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    void* memory = nullptr;
    if (count > 0) check(cudaMalloc(&memory, count * sizeof(T)));
    memory_.reset(static_cast<T*>(memory));
  }
  explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) { upload(values); }
  [[nodiscard]] T* get() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return count_; }
  /// Overwrites the beginning; it is there when this returns, for every stream.
  void upload(std::span<const T> values) const {
    if (values.empty()) return;
    check(cudaMemcpy(get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // small copies may still be on their way
  }
  /// Waits for the device, then copies `count` elements from `first`.
  [[nodiscard]] std::vector<T> download(std::size_t first, std::size_t count) const {
    std::vector<T> values(count);
    check(cudaDeviceSynchronize());
    if (count > 0) check(cudaMemcpy(values.data(), get() + first, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  struct Release {
    void operator()(T* memory) const { static_cast<void>(cudaFree(memory)); }
  };
  std::unique_ptr<T, Release> memory_;
  std::size_t count_ = 0;
};

/// Page-locked memory of the host, which kernels may read too.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    memory_.reset(static_cast<std::byte*>(memory));
  }
  [[nodiscard]] std::byte* get() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  /// Address of this memory in kernels.
  [[nodiscard]] std::byte* on_device() const {
    void* address = nullptr;
    check(cudaHostGetDevicePointer(&address, memory_.get(), 0));
    return static_cast<std::byte*>(address);
  }

 private:
  struct Release {
    void operator()(std::byte* memory) const { static_cast<void>(cudaFreeHost(memory)); }
  };
  std::unique_ptr<std::byte, Release> memory_;
  std::size_t bytes_ = 0;
};

/// A stream that does not wait for the default one.
class Stream {
 public:
  Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
  }
  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  void wait_for(cudaEvent_t event) const { check(cudaStreamWaitEvent(get(), event, 0)); }
  void synchronise() const { check(cudaStreamSynchronize(get())); }

 private:
  struct Release {
    void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Release> stream_;
};

class Event {
 public:
  Event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    event_.reset(event);
  }
  [[nodiscard]] cudaEvent_t get() const { return event_.get(); }
  void record(const Stream& stream) const { check(cudaEventRecord(get(), stream.get())); }
  void synchronise() const { check(cudaEventSynchronize(get())); }
  /// Milliseconds from `begin` to this one; both have happened.
  [[nodiscard]] double ms_since(const Event& begin) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin.get(), get()));
    return static_cast<double>(ms);
  }

 private:
  struct Release {
    void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Release> event_;
};

/// Work put onto a stream by `work`, ready to be launched at once.
class Graph {
 public:
  template <class Work>
  Graph(const Stream& stream, const Work& work) {
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    work(stream);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph));
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, ReleaseGraph> owner(graph);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    executable_.reset(executable);
  }
  void launch(const Stream& stream) const { check(cudaGraphLaunch(executable_.get(), stream.get())); }

 private:
  struct ReleaseGraph {
    void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  };
  struct Release {
    void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Release> executable_;
};

}  // namespace kvsim::calibrate
