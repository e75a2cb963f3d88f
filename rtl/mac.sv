// y = c + a * b. FORMAT 0: 16-bit operands in two's complement, 32-bit sum that wraps. FORMAT 1:
// bfloat16 operands, float32 sum. The product is exact, so the sum is rounded once. A product below
// the smallest normal number is 0, zero times infinity is 0; the rest is as in add32.
`ifdef ADAGP_DPI_MAC
import "DPI-C" pure function int unsigned adagp_mac_bf16(
  input int unsigned ab, input int unsigned c);
`endif
module mac #(parameter int FORMAT = 0) (
  input  logic [15:0] a,
  input  logic [15:0] b,
  input  logic [31:0] c,
  output logic [31:0] y);
  generate
    if (FORMAT == 0) begin : g_fixed
      logic signed [31:0] product;
      assign product = $signed(a) * $signed(b);
      assign y = c + product;
    end else begin : g_float
`ifdef ADAGP_DPI_MAC
      // The same function in C++ (rtl/sim/arithmetic.h): ten times as fast in simulation.
      assign y = adagp_mac_bf16({a, b}, c);
`else
      logic [15:0] mantissa;
      logic signed [9:0] exponent;
      logic sign, is_zero, is_infinite;
      logic [31:0] product;
      always_comb begin
        sign = a[15] ^ b[15];
        mantissa = {1'b1, a[6:0]} * {1'b1, b[6:0]};
        exponent = $signed({2'b0, a[14:7]}) + $signed({2'b0, b[14:7]}) - 10'sd127
                 + $signed({9'd0, mantissa[15]});
        is_zero = a[14:7] == 0 || b[14:7] == 0;
        is_infinite = a[14:7] == 8'hff || b[14:7] == 8'hff || exponent >= 255;
        if (is_zero) product = 32'd0;
        else if (is_infinite) product = {sign, 8'hff, 23'd0};
        else if (exponent <= 0) product = 32'd0;
        else product = {sign, exponent[7:0],
                        mantissa[15] ? mantissa[14:0] : {mantissa[13:0], 1'b0}, 8'd0};
      end
      add32 #(.FORMAT(1)) adder (.a(c), .b(product), .y(y));
`endif
    end
  endgenerate
endmodule
