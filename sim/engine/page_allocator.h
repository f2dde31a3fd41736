// Internal: an allocator for large tables that are read at random. Blocks start on a cache line; those of a
// megabyte or more take whole huge pages and ask the system for such, because with small ones each random access
// to a million pending events also walks the page table.
#pragma once

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kvsim::engine {

template <class T>
struct PageAllocator {
  using value_type = T;

  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>& /*other*/) {}  // NOLINT: allocators convert implicitly

  [[nodiscard]] T* allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    if (huge(bytes)) bytes = (bytes + huge_page - 1) / huge_page * huge_page;
    void* block = ::operator new(bytes, alignment_of(bytes));
#ifdef __linux__
    if (huge(bytes)) madvise(block, bytes, MADV_HUGEPAGE);  // a hint: failing costs speed only
#endif
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) {
    ::operator delete(block, alignment_of(count * sizeof(T)));
  }

  bool operator==(const PageAllocator&) const {
    return true;
  }

 private:
  static constexpr std::size_t cache_line = 64;
  static constexpr std::size_t huge_page = std::size_t{1} << 21;

  static constexpr bool huge(std::size_t bytes) {
    return bytes >= huge_page / 2;
  }
  static constexpr std::align_val_t alignment_of(std::size_t bytes) {
    return std::align_val_t{huge(bytes) ? huge_page : cache_line};
  }
};

}  // namespace kvsim::engine
