// y = x / 2^shift, rounded to nearest even: `wide` has 32 bits, `narrow` 16.
// FORMAT 0: `narrow` saturates. FORMAT 1: results below the smallest normal number are +0.
module round #(parameter int FORMAT = 0) (
  input  logic [31:0] x,
  input  logic [4:0]  shift,
  output logic [31:0] wide,
  output logic [15:0] narrow);
  generate
    if (FORMAT == 0) begin : g_fixed
      logic signed [62:0] s;
      always_comb begin
        s = $signed({x, 31'd0}) >>> shift;
        wide = s[62:31] + {31'd0, s[30] & (s[31] | (|s[29:0]))};
        if ($signed(wide) > 32'sd32767) narrow = 16'h7fff;
        else if ($signed(wide) < -32'sd32768) narrow = 16'h8000;
        else narrow = wide[15:0];
      end
    end else begin : g_float
      logic [7:0] exponent;
      always_comb begin
        exponent = x[30:23] - {3'd0, shift};
        if (x[30:23] == 8'hff) wide = {x[31], 8'hff, 23'd0};
        else if (x[30:23] <= {3'd0, shift}) wide = 32'd0;
        else wide = {x[31], exponent, x[22:0]};
        narrow = wide[31:16] + {15'd0, wide[15] & (wide[16] | (|wide[14:0]))};
      end
    end
  endgenerate
endmodule
