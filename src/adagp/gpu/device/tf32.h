#pragma once
// TF32: products of fp32 numbers on a GPU that keep ten bits of their mantissas. A setting of the
// whole process, so whoever changes it puts it back.

namespace adagp::device {

// While one is alive, no product uses TF32. The last one that ends puts back what was before the
// first one: two may end in any order.
class WithoutTf32 {
 public:
  WithoutTf32();
  ~WithoutTf32();
  WithoutTf32(const WithoutTf32&) = delete;
  WithoutTf32& operator=(const WithoutTf32&) = delete;
};

// Whether convolutions in fp32 may use it. PyTorch's default: they may, matrix products may not.
bool convolutions_use_tf32();

// While one is alive, matrix products use TF32 where `on` says so.
class ProductsInTf32 {
 public:
  explicit ProductsInTf32(bool on);
  ~ProductsInTf32();
  ProductsInTf32(const ProductsInTf32&) = delete;
  ProductsInTf32& operator=(const ProductsInTf32&) = delete;

 private:
  bool before_;
};

}  // namespace adagp::device
