// y = a + b for sums. FORMAT 0: 32-bit two's complement, wraps. FORMAT 1: float32, round to nearest
// even. float32 here has no subnormals and no NaN: a subnormal operand or result is +0, every zero
// result is +0, overflow gives infinity, and an operand with exponent 255 counts as infinity; of
// two infinities the first operand's sign wins.
`ifdef ADAGP_DPI_MAC
import "DPI-C" pure function int unsigned adagp_add_float(
  input int unsigned a, input int unsigned b);
`endif
module add32 #(parameter int FORMAT = 0) (
  input  logic [31:0] a,
  input  logic [31:0] b,
  output logic [31:0] y);
  generate
    if (FORMAT == 0) begin : g_fixed
      assign y = a + b;
    end else begin : g_float
`ifdef ADAGP_DPI_MAC
      // The same function in C++ (rtl/sim/arithmetic.h), for speed in simulation.
      assign y = adagp_add_float(a, b);
`else
      logic swap, subtract, round_up, is_zero;
      logic [31:0] big, small_;
      logic [7:0] distance;
      logic [26:0] big_m, small_m, aligned;    // hidden one, 23 bits, guard, round, sticky
      logic [53:0] shifted;
      logic [27:0] sum, normal;
      logic [4:0] lead;
      logic [24:0] rounded;
      logic signed [9:0] exponent, final_exponent;
      always_comb begin
        swap = b[30:23] > a[30:23] ||
               (b[30:23] == a[30:23] && b[22:0] > a[22:0] && a[30:23] != 8'hff);
        big = swap ? b : a;
        small_ = swap ? a : b;
        distance = big[30:23] - small_[30:23];
        big_m = (big[30:23] == 0) ? 27'd0 : {1'b1, big[22:0], 3'b0};
        small_m = (small_[30:23] == 0) ? 27'd0 : {1'b1, small_[22:0], 3'b0};
        shifted = {small_m, 27'd0} >> ((distance > 8'd27) ? 5'd27 : distance[4:0]);
        aligned = {shifted[53:28], shifted[27] | (|shifted[26:0])};
        subtract = big[31] ^ small_[31];
        sum = subtract ? {1'b0, big_m} - {1'b0, aligned} : {1'b0, big_m} + {1'b0, aligned};
        lead = 5'd0;
        for (int i = 0; i < 28; i = i + 1) if (sum[i]) lead = 5'd27 - i[4:0];
        normal = sum << lead;
        exponent = $signed({2'b0, big[30:23]}) + 10'sd1 - $signed({5'b0, lead});
        round_up = normal[3] & (normal[4] | (|normal[2:0]));
        rounded = {1'b0, normal[27:4]} + {24'd0, round_up};
        final_exponent = exponent + $signed({9'd0, rounded[24]});
        is_zero = (sum == 0) || (final_exponent <= 0);
        if (big[30:23] == 8'hff || (!is_zero && final_exponent >= 255)) y = {big[31], 8'hff, 23'd0};
        else if (is_zero) y = 32'd0;
        else y = {big[31], final_exponent[7:0], rounded[24] ? rounded[23:1] : rounded[22:0]};
      end
`endif
    end
  endgenerate
endmodule
