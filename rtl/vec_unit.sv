// Row-wise work outside the array, one row (or one chunk of a regrouped row) per cycle: [read the
// bias row] , read a row , compute and write it one cycle later. Cycles: [1 if bias] + n0*n1*n2 *
// chunks + 1 + [1 if a scale is written]. One side of each kind walks plain rows from `yb`, the
// other the nested loops from `xb`; rows of several chunks are walked once per chunk. An update
// with `bias` finds the predictor's scale of the layer in the bias row (see scale_unit), and so does
// `error`. LEARNS: the kinds `error` and `slope`, whose results lie in rows from `s3` on; with an
// array of its own, the predictor's lanes are that array's.
module vec_unit #(
  parameter int ROWS = 4, parameter int COLS = 5, parameter int PROWS = 2, parameter int FORMAT = 0,
  parameter int HAS_PRED = 0, parameter int HAS_ARRAY = 0, parameter int LEARNS = 0) (
  input  logic                clk,
  input  logic                rst,
  input  logic                issue,
  input  logic [255:0]        d,
  output logic                idle,
  output logic                beat,
  output logic                update,      // a row of weights is updated
  output logic [3:0]          kind,
  output logic                to_y,        // `gradient` goes to Y in place of O
  output logic [15:0]         plain,       // row from yb
  output logic [15:0]         looped,      // row of the nested loops
  output logic                read,        // a row is read in this cycle
  output logic                read_bias,
  output logic [15:0]         bias_row,
  output logic                write,       // the results below are written in this cycle
  output logic                write_scale, // new_p goes to the bias row
  output logic [15:0]         wa,
  output logic [15:0]         wb,
  input  logic [ROWS*32-1:0]  y_rd,
  input  logic [COLS*32-1:0]  d_rd,
  input  logic [COLS*16-1:0]  x_rd,
  input  logic [ROWS*32-1:0]  o_rd,
  input  logic [ROWS*32-1:0]  v_rd,
  input  logic [ROWS*32-1:0]  p_rd,
  input  logic [PROWS*32-1:0] py_rd,
  input  logic [PROWS*32-1:0] po_rd,
  output logic [COLS*16-1:0]  act_data,
  output logic [COLS-1:0]     act_valid,
  output logic [COLS-1:0]     act_wrap,
  output logic [ROWS*16-1:0]  back_data,
  output logic [ROWS-1:0]     back_valid,
  output logic [ROWS-1:0]     back_wrap,
  output logic [ROWS*16-1:0]  row_data,    // out, error, slope
  output logic [ROWS*32-1:0]  grad_data,
  output logic [ROWS-1:0]     grad_valid,
  output logic [ROWS-1:0]     grad_wrap,
  output logic [PROWS*16-1:0] pg_data,     // error, slope of the predictor's array
  output logic [PROWS-1:0]    pg_valid,
  output logic [PROWS-1:0]    pg_wrap,
  output logic [ROWS*16-1:0]  new_w,
  output logic [ROWS*32-1:0]  new_v,
  output logic [ROWS*32-1:0]  new_p);
  localparam logic [2:0] IDLE = 0, BIAS = 1, RUN = 2, LAST = 3, SCALE = 4;
  localparam int ACT_CHUNKS = (ROWS + COLS - 1) / COLS;
  localparam int BACK_CHUNKS = (COLS + ROWS - 1) / ROWS;
  localparam int GRAD_CHUNKS = (PROWS + ROWS - 1) / ROWS;
  localparam int ERROR_CHUNKS = HAS_ARRAY != 0 ? (ROWS + PROWS - 1) / PROWS : 1;
  logic [2:0] state;
  logic [15:0] yb, gs, row, chunk, chunk_now, offset, chunks, walk, results, written;
  logic [47:0] counts, strides;
  logic [4:0] shift_a, shift_b;
  logic [7:0] rot;
  logic relu, bias, last, last_inner, last_outer, first_inner, is_sgd, sgd_pred;
  logic psrc, clear, drain, measured, bias_now, is_error, is_slope;
  logic [COLS*16-1:0] masked;

  loop_counter #(.LEVELS(4), .INNER(3)) loops (
    .clk(clk), .load(issue && idle), .step(beat), .base(d[adagp_pkg::F_XB +: 16]),
    .n({chunks, counts}), .s({16'd0, strides}), .addr(walk), .first_inner(first_inner),
    .last_inner(last_inner), .last_outer(last_outer), .last(last));

  assign idle = state == IDLE;
  assign to_y = LEARNS != 0 && psrc;
  assign beat = state == RUN;
  assign read = beat;
  assign read_bias = state == BIAS;
  assign plain = yb + row;
  assign looped = walk;
  assign sgd_pred = HAS_PRED != 0 && kind == 4'(adagp_pkg::VEC_SGD_PRED);
  assign is_sgd = kind == 4'(adagp_pkg::VEC_SGD) || sgd_pred;
  assign is_error = LEARNS != 0 && kind == 4'(adagp_pkg::VEC_ERROR);
  assign is_slope = LEARNS != 0 && kind == 4'(adagp_pkg::VEC_SLOPE);
  assign written = (is_error || is_slope) ? results + row
                 : kind == 4'(adagp_pkg::VEC_BACK) ? plain : walk;
  assign update = write && is_sgd;
  assign write_scale = HAS_PRED != 0 && state == SCALE;
  assign measured = HAS_PRED != 0 && bias && !psrc && kind == 4'(adagp_pkg::VEC_SGD);

  always_ff @(posedge clk) begin
    write <= beat && !rst;
    chunk_now <= chunk;
    wa <= written + offset;
    wb <= written + offset + gs;
    if (rst) state <= IDLE;
    else case (state)
      IDLE: if (issue) begin
        kind <= d[adagp_pkg::F_KIND +: 4];
        yb <= d[adagp_pkg::F_YB +: 16];
        bias_row <= d[adagp_pkg::F_WB +: 16];
        gs <= d[adagp_pkg::F_GS +: 16];
        results <= d[adagp_pkg::F_S3 +: 16];
        counts <= {d[adagp_pkg::F_N2 +: 16], d[adagp_pkg::F_N1 +: 16], d[adagp_pkg::F_N0 +: 16]};
        strides <= {d[adagp_pkg::F_S2 +: 16], d[adagp_pkg::F_S1 +: 16], d[adagp_pkg::F_S0 +: 16]};
        shift_a <= d[adagp_pkg::F_SHIFT_A +: 5];
        shift_b <= d[adagp_pkg::F_SHIFT_B +: 5];
        rot <= d[adagp_pkg::F_ROT +: 8];
        relu <= d[adagp_pkg::F_RELU];
        bias <= d[adagp_pkg::F_BIAS];
        psrc <= d[adagp_pkg::F_PSRC];
        clear <= d[adagp_pkg::F_CLEAR];
        drain <= d[adagp_pkg::F_DRAIN];
        count <= d[adagp_pkg::F_ADDR +: 32];
        row <= 16'd0;
        chunk <= 16'd0;
        offset <= 16'd0;
        case (d[adagp_pkg::F_KIND +: 4])
          4'(adagp_pkg::VEC_ACT): chunks <= 16'(ACT_CHUNKS);
          4'(adagp_pkg::VEC_BACK): chunks <= 16'(BACK_CHUNKS);
          4'(adagp_pkg::VEC_GRADIENT): chunks <= 16'(GRAD_CHUNKS);
          4'(adagp_pkg::VEC_ERROR): chunks <= 16'(ERROR_CHUNKS);
          default: chunks <= 16'd1;
        endcase
        state <= d[adagp_pkg::F_BIAS] ? BIAS : RUN;
      end
      BIAS: state <= RUN;
      RUN: begin
        row <= last_inner ? 16'd0 : row + 16'd1;
        if (last_inner) begin
          chunk <= chunk + 16'd1;
          offset <= offset + gs;
        end
        if (last) state <= LAST;
      end
      LAST: state <= (measured && drain) ? SCALE : IDLE;
      default: state <= IDLE;
    endcase
  end

  // The layer's scale: an update with the true gradient measures it, one with a predicted gradient
  // multiplies by it.
  logic [4:0] scale, next_scale, gradient_shift;
  logic [31:0] count;
  generate
    if (HAS_PRED != 0) begin : g_scale
      always_ff @(posedge clk) begin
        bias_now <= read_bias;
        if (bias_now) scale <= p_rd[4:0];
      end
      scale_unit #(.ROWS(ROWS), .FORMAT(FORMAT)) measure (
        .clk(clk), .clear(read_bias && measured && clear), .beat(write && measured), .row(o_rd),
        .scale(scale), .count(count), .next(next_scale));
      assign gradient_shift = (bias && (sgd_pred || psrc)) ? scale : 5'd0;
    end else begin : g_no_scale
      assign {scale, next_scale, gradient_shift} = 15'd0;
      assign bias_now = 1'b0;
    end
  endgenerate

  genvar k;
  generate
    for (k = 0; k < ROWS; k = k + 1) begin : g_row
      logic [31:0] target, biased, sum, unused_wide, decay, kept, unused_update;
      logic [31:0] unscaled, scaled, gradient, velocity, move, weight, unused_weight;
      logic [15:0] rounded, unused_decay, unused_move, unused_gradient;
      // bias or, for an error, the true gradient times 2^scale; ReLU, rounding
      raise #(.FORMAT(FORMAT)) of_target (.x(o_rd[k*32 +: 32]), .shift(scale), .y(target));
      add32 #(.FORMAT(FORMAT)) add_bias (
        .a(y_rd[k*32 +: 32]),
        .b(is_error ? (FORMAT == 0 ? -target : {~target[31], target[30:0]})
           : bias ? p_rd[k*32 +: 32] : 32'd0),
        .y(biased));
      assign sum = (is_slope && HAS_ARRAY == 0) ? ($signed(y_rd[k*32 +: 32]) > 32'sd0 ? o_rd[k*32 +: 32] : 32'd0)
                 : (relu && biased[31]) ? 32'd0 : biased;
      round #(.FORMAT(FORMAT)) to_data (
        .x(sum), .shift(shift_a), .wide(unused_wide), .narrow(rounded));
      // Lanes without a channel have no error.
      assign row_data[k*16 +: 16] = (is_error && 32'(k) >= count) ? 16'd0 : rounded;
      // v = v - v / 2^shift_a + gradient; p = p - v / 2^shift_b; w = p / 2^rot
      assign unscaled = sgd_pred ? y_rd[k*32 +: 32] : o_rd[k*32 +: 32];
      round #(.FORMAT(FORMAT)) of_gradient (
        .x(unscaled), .shift(gradient_shift), .wide(scaled), .narrow(unused_gradient));
      assign gradient = HAS_PRED == 0 ? unscaled : scaled;
      round #(.FORMAT(FORMAT)) of_velocity (
        .x(v_rd[k*32 +: 32]), .shift(shift_a), .wide(decay), .narrow(unused_decay));
      add32 #(.FORMAT(FORMAT)) keep (
        .a(v_rd[k*32 +: 32]), .b(FORMAT == 0 ? -decay : {~decay[31], decay[30:0]}), .y(kept));
      add32 #(.FORMAT(FORMAT)) add_gradient (.a(kept), .b(gradient), .y(velocity));
      round #(.FORMAT(FORMAT)) of_move (
        .x(velocity), .shift(shift_b), .wide(move), .narrow(unused_move));
      add32 #(.FORMAT(FORMAT)) add_move (
        .a(p_rd[k*32 +: 32]), .b(FORMAT == 0 ? -move : {~move[31], move[30:0]}), .y(weight));
      round #(.FORMAT(FORMAT)) to_weight (
        .x(weight), .shift(rot[4:0]), .wide(unused_weight), .narrow(new_w[k*16 +: 16]));
      assign new_v[k*32 +: 32] = velocity;
      assign new_p[k*32 +: 32] = write_scale ? {27'd0, next_scale} : weight;
    end
    for (k = 0; k < COLS; k = k + 1) begin : g_col
      logic [31:0] unused_wide;
      logic [15:0] rounded;
      round #(.FORMAT(FORMAT)) to_data (
        .x(d_rd[k*32 +: 32]), .shift(shift_a), .wide(unused_wide), .narrow(rounded));
      // The ReLU's mask is the sign of the activation itself: X holds it at the address of D.
      assign masked[k*16 +: 16] =
        (relu && (x_rd[k*16+15] || x_rd[k*16 +: 16] == 16'd0)) ? 16'd0 : rounded;
    end
    if (HAS_ARRAY != 0) begin : g_pred
      regroup #(.SRC(PROWS), .DST(ROWS), .BITS(32)) grad (
        .row(py_rd), .chunk(chunk_now), .rot(rot), .data(grad_data), .valid(grad_valid),
        .wrap(grad_wrap));
    end else begin : g_no_pred
      assign grad_data = {ROWS*32{1'b0}};
      assign {grad_valid, grad_wrap} = {2*ROWS{1'b0}};
    end
    if (HAS_ARRAY != 0 && LEARNS != 0) begin : g_learns
      logic [PROWS*16-1:0] slopes, errors;
      logic [PROWS-1:0] present, next_group;
      for (k = 0; k < PROWS; k = k + 1) begin : g_slope
        logic [31:0] unused_wide;
        round #(.FORMAT(FORMAT)) to_data (
          .x($signed(py_rd[k*32 +: 32]) > 32'sd0 ? po_rd[k*32 +: 32] : 32'd0), .shift(shift_a),
          .wide(unused_wide), .narrow(slopes[k*16 +: 16]));
      end
      regroup #(.SRC(ROWS), .DST(PROWS), .BITS(16)) error (
        .row(row_data), .chunk(chunk_now), .rot(rot), .data(errors), .valid(present),
        .wrap(next_group));
      assign pg_data = is_slope ? slopes : errors;
      assign pg_valid = is_slope ? {PROWS{1'b1}} : present;
      assign pg_wrap = is_slope ? {PROWS{1'b0}} : next_group;
    end else begin : g_no_array_learns
      assign pg_data = {PROWS*16{1'b0}};
      assign {pg_valid, pg_wrap} = {2*PROWS{1'b0}};
    end
  endgenerate
  regroup #(.SRC(ROWS), .DST(COLS), .BITS(16)) act (
    .row(row_data), .chunk(chunk_now), .rot(rot), .data(act_data), .valid(act_valid),
    .wrap(act_wrap));
  regroup #(.SRC(COLS), .DST(ROWS), .BITS(16)) back (
    .row(masked), .chunk(chunk_now), .rot(rot), .data(back_data), .valid(back_valid),
    .wrap(back_wrap));
endmodule
